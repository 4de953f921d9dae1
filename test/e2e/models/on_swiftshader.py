#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_swiftshader.py FOLDER COMMAND…: runs a command with SwiftShader as the only Vulkan driver.

SwiftShader has subgroups of 4 where lavapipe has 8, and no 16-bit features, so it finds what was taken for granted. Ends with 77, and
says why, where tools/scripts/setup-swiftshader has not put it into FOLDER.
"""

import os
import sys


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    driver = os.path.join(folder, "vk_swiftshader_icd.json")
    if not os.path.exists(os.path.join(folder, "version")):
        print(f"skipped: no SwiftShader in {folder}; tools/scripts/setup-swiftshader puts it there")
        return 77
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = driver
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
