/* SPDX-License-Identifier: Apache-2.0
 *
 * fakegpu: makes a Mesa Vulkan driver believe that this machine has one of our
 * target GPUs.
 *
 * Preload it under a program that loads turnip (libvulkan_freedreno.so) or
 * panvk (libvulkan_panfrost.so). The driver then starts, reports the chip's
 * properties and compiles shaders; nothing is ever executed: every submit and
 * every wait succeeds at once.
 *
 *   FAKEGPU=adreno-840 | mali-g76 | mali-g610   which GPU to be (needed)
 *   FAKEGPU_TRACE=1                             name each ioctl that is not
 *                                               answered on stderr
 *
 * How it works:
 *   - drmGetDevices2() lists one platform device whose render node is a path
 *     that does not exist;
 *   - open() of that path gives a memfd. It is huge and sparse, and a buffer
 *     object is a range of it, so the driver's own mmap() of a buffer needs no
 *     help from us;
 *   - ioctl() on that memfd is answered here; on any other descriptor it goes
 *     to the kernel;
 *   - stat() of the path gives DRM's device number.
 *
 * The register values of the Adreno 840 and the Mali-G610 are those that real
 * chips report (public tables, kernel logs and dumps). The Mali-G76's thread
 * limits, L2 and core count are estimates: they shape limits, not code. Values
 * that shape compute code are marked with a *. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/msm_drm.h>
#include <drm/panfrost_drm.h>
#include <drm/panthor_drm.h>
#include <xf86drm.h>

/* Turnip keeps 19 characters of it. */
static const char NODE[] = "/dev/dri/renderD200";
enum { DRM_MAJOR_NO = 226, DRM_RENDER_MINOR = 200 };

/* ---- the chips */

struct target {
  const char *name;   /* FAKEGPU=... */
  const char *kernel; /* name of the kernel driver */
  int minor;          /* its interface version is 1.minor */
  const char *compat; /* devicetree "compatible" */
  int (*ioctl)(unsigned nr, void *arg);
};

static int msm_ioctl(unsigned nr, void *arg);
static int panfrost_ioctl(unsigned nr, void *arg);
static int panthor_ioctl(unsigned nr, void *arg);

static const struct target targets[] = {
    {"adreno-840", "msm", 12, "qcom,adreno", msm_ioctl},
    {"mali-g76", "panfrost", 3, "arm,mali-bifrost", panfrost_ioctl},
    {"mali-g610", "panthor", 2, "arm,mali-valhall-csf", panthor_ioctl},
};

static const struct target *target(void) {
  static const struct target *found;
  if (found)
    return found;
  const char *want = getenv("FAKEGPU");
  for (size_t i = 0; want && i < sizeof targets / sizeof *targets; i++)
    if (!strcmp(targets[i].name, want))
      return found = &targets[i];
  fprintf(stderr,
          "fakegpu: set FAKEGPU to adreno-840, mali-g76 or mali-g610\n");
  exit(2);
}

/* ---- buffer objects: ranges of one sparse memfd */

#define MAX_BO 65536
#define GPU_VA_BASE                                                            \
  0x100000000ull /* GPU address of a buffer = this + its offset in the memfd   \
                  */
static struct {
  uint64_t offset, size;
} bo[MAX_BO]; /* index = handle; size 0 = free */
static uint64_t bo_end = 4096;
static int mem_fd = -1;
static struct stat mem_stat;

static int mem_open(void) {
  if (mem_fd < 0) {
    mem_fd = syscall(SYS_memfd_create, "fakegpu", 1u /* MFD_CLOEXEC */);
    /* Larger than any offset the drivers map, panthor's register page at 2^56
     * included. */
    if (mem_fd < 0 || ftruncate(mem_fd, (off_t)1 << 57) ||
        fstat(mem_fd, &mem_stat)) {
      perror("fakegpu: memfd");
      exit(2);
    }
  }
  return fcntl(mem_fd, F_DUPFD_CLOEXEC, 3);
}

static int is_ours(int fd) {
  struct stat s;
  return mem_fd >= 0 && fd >= 0 && !fstat(fd, &s) &&
         s.st_ino == mem_stat.st_ino && s.st_dev == mem_stat.st_dev;
}

static int fail(int err) {
  errno = err;
  return -1;
}

static uint32_t bo_new(uint64_t size) {
  for (uint32_t h = 1; h < MAX_BO; h++)
    if (!bo[h].size) {
      bo[h].size = (size + 4095) & ~4095ull;
      bo[h].offset = bo_end;
      bo_end += bo[h].size;
      return h;
    }
  fprintf(stderr, "fakegpu: too many buffers\n");
  exit(2);
}

static void bo_close(uint32_t h) {
  if (h >= MAX_BO || !bo[h].size)
    return;
  fallocate(mem_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, bo[h].offset,
            bo[h].size);
  bo[h].size = 0;
}

static uint32_t
next_id(void) { /* queues, contexts, sync objects: any number will do */
  static uint32_t id;
  return ++id;
}

/* ---- msm (Adreno) */

static int msm_param(uint32_t param, uint64_t *v) {
  switch (param) {
  case MSM_PARAM_GPU_ID:
    *v = 0;
    return 0; /* newer chips have a chip id only */
  case MSM_PARAM_CHIP_ID:
    *v = 0x44050a31;
    return 0; /* * Adreno 840: selects the device table */
  case MSM_PARAM_GMEM_SIZE:
    *v = 18 << 20;
    return 0; /* tile memory, of no use to compute */
  case MSM_PARAM_GMEM_BASE:
    *v = 0;
    return 0;
  case MSM_PARAM_MAX_FREQ:
    *v = 1200000000;
    return 0;
  case MSM_PARAM_PRIORITIES:
    *v = 3;
    return 0;
  case MSM_PARAM_VA_START:
    *v = GPU_VA_BASE;
    return 0;
  case MSM_PARAM_VA_SIZE:
    *v = 1ull << 40;
    return 0;
  case MSM_PARAM_HIGHEST_BANK_BIT:
    *v = 16;
    return 0;
  case MSM_PARAM_UBWC_SWIZZLE:
    *v = 6;
    return 0;
  case MSM_PARAM_MACROTILE_MODE:
    *v = 1;
    return 0;
  case MSM_PARAM_TIMESTAMP:
  case MSM_PARAM_FAULTS:
  case MSM_PARAM_SUSPENDS:
  case MSM_PARAM_UCHE_TRAP_BASE:
  case MSM_PARAM_RAYTRACING:
    *v = 0;
    return 0;
  }
  return fail(EINVAL);
}

static int msm_ioctl(unsigned nr, void *arg) {
  static uint32_t fence;
  switch (nr) {
  case DRM_MSM_GET_PARAM: {
    struct drm_msm_param *p = arg;
    uint64_t v;
    if (msm_param(p->param, &v))
      return -1;
    p->value = v;
    return 0;
  }
  case DRM_MSM_SET_PARAM: /* refusing EN_VM_BIND keeps the driver on the older
                             interface */
    return ((struct drm_msm_param *)arg)->param == MSM_PARAM_EN_VM_BIND
               ? fail(EINVAL)
               : 0;
  case DRM_MSM_GEM_NEW: {
    struct drm_msm_gem_new *p = arg;
    p->handle = bo_new(p->size);
    return 0;
  }
  case DRM_MSM_GEM_INFO: {
    struct drm_msm_gem_info *p = arg;
    if (p->handle >= MAX_BO || !bo[p->handle].size)
      return fail(ENOENT);
    if (p->info == MSM_INFO_GET_OFFSET)
      p->value = bo[p->handle].offset;
    if (p->info == MSM_INFO_GET_IOVA)
      p->value = GPU_VA_BASE + bo[p->handle].offset;
    if (p->info == MSM_INFO_GET_FLAGS)
      p->value = MSM_BO_WC;
    return 0;
  }
  case DRM_MSM_SUBMITQUEUE_NEW:
    ((struct drm_msm_submitqueue *)arg)->id = next_id();
    return 0;
  case DRM_MSM_GEM_SUBMIT:
    ((struct drm_msm_gem_submit *)arg)->fence = ++fence;
    return 0;
  case DRM_MSM_GEM_MADVISE:
    ((struct drm_msm_gem_madvise *)arg)->retained = 1;
    return 0;
  case DRM_MSM_GEM_CPU_PREP:
  case DRM_MSM_GEM_CPU_FINI:
  case DRM_MSM_WAIT_FENCE:
  case DRM_MSM_SUBMITQUEUE_CLOSE:
    return 0;
  }
  return fail(ENOTTY);
}

/* ---- panfrost (Mali with a job manager: G76) */

static uint64_t panfrost_param(uint32_t param) {
  switch (param) {
  case DRM_PANFROST_PARAM_GPU_PROD_ID:
    return 0x7211; /* * Mali-G76 */
  case DRM_PANFROST_PARAM_SHADER_PRESENT:
    return 0xfff; /* 12 cores; the G76 of a Kirin 980 has 10 */
  case DRM_PANFROST_PARAM_THREAD_FEATURES:
    return 0x04006000; /* * 4 tasks, 24576 registers a core */
  case DRM_PANFROST_PARAM_MAX_THREADS:
    return 768; /* * at 32 registers or fewer */
  case DRM_PANFROST_PARAM_THREAD_MAX_WORKGROUP_SZ:
    return 384; /* * */
  case DRM_PANFROST_PARAM_THREAD_MAX_BARRIER_SZ:
    return 384;
  case DRM_PANFROST_PARAM_TILER_FEATURES:
    return 0x809;
  case DRM_PANFROST_PARAM_MMU_FEATURES:
    return 0x2830; /* 48-bit addresses */
  case DRM_PANFROST_PARAM_MEM_FEATURES:
    return 0x301;
  case DRM_PANFROST_PARAM_L2_FEATURES:
    return 0x7130206;
  case DRM_PANFROST_PARAM_TEXTURE_FEATURES0:
  case DRM_PANFROST_PARAM_TEXTURE_FEATURES1:
  case DRM_PANFROST_PARAM_TEXTURE_FEATURES2:
  case DRM_PANFROST_PARAM_TEXTURE_FEATURES3:
    return 0xffffffff;
  case DRM_PANFROST_PARAM_ALLOWED_JM_CTX_PRIORITIES: /* without it
                                                        vkCreateDevice refuses
                                                      */
    return 1 << PANFROST_JM_CTX_PRIORITY_LOW |
           1 << PANFROST_JM_CTX_PRIORITY_MEDIUM;
  case DRM_PANFROST_PARAM_SYSTEM_TIMESTAMP_FREQUENCY:
    return 1000000000;
  default:
    return 0;
  }
}

static int panfrost_ioctl(unsigned nr, void *arg) {
  switch (nr) {
  case DRM_PANFROST_GET_PARAM: {
    struct drm_panfrost_get_param *p = arg;
    p->value = panfrost_param(p->param);
    return 0;
  }
  case DRM_PANFROST_CREATE_BO: {
    struct drm_panfrost_create_bo *p = arg;
    p->handle = bo_new(p->size);
    p->offset = GPU_VA_BASE + bo[p->handle].offset;
    return 0;
  }
  case DRM_PANFROST_MMAP_BO: {
    struct drm_panfrost_mmap_bo *p = arg;
    if (p->handle >= MAX_BO)
      return fail(ENOENT);
    p->offset = bo[p->handle].offset;
    return 0;
  }
  case DRM_PANFROST_GET_BO_OFFSET: {
    struct drm_panfrost_get_bo_offset *p = arg;
    if (p->handle >= MAX_BO)
      return fail(ENOENT);
    p->offset = GPU_VA_BASE + bo[p->handle].offset;
    return 0;
  }
  case DRM_PANFROST_JM_CTX_CREATE:
    ((struct drm_panfrost_jm_ctx_create *)arg)->handle = next_id();
    return 0;
  case DRM_PANFROST_MADVISE:
    ((struct drm_panfrost_madvise *)arg)->retained = 1;
    return 0;
  case DRM_PANFROST_JM_CTX_DESTROY:
  case DRM_PANFROST_SET_LABEL_BO:
  case DRM_PANFROST_WAIT_BO:
  case DRM_PANFROST_SUBMIT:
    return 0;
  }
  return fail(ENOTTY);
}

/* ---- panthor (Mali with a command-stream front end: G610) */

static int panthor_query(struct drm_panthor_dev_query *q) {
  union {
    struct drm_panthor_gpu_info gpu;
    struct drm_panthor_csif_info csif;
    struct drm_panthor_timestamp_info time;
    struct drm_panthor_group_priorities_info prio;
  } u;
  size_t size;
  memset(&u, 0, sizeof u);
  switch (q->type) {
  case DRM_PANTHOR_DEV_QUERY_GPU_INFO:
    size = sizeof u.gpu;
    u.gpu.gpu_id = 0xa8670005; /* * Mali-G610 r0p0, as on an RK3588 */
    u.gpu.csf_id = 0x40a0412;
    u.gpu.l2_features = 0x7120306;
    u.gpu.tiler_features = 0x809;
    u.gpu.mem_features = 0x301;
    u.gpu.mmu_features = 0x2830;       /* 48-bit addresses */
    u.gpu.thread_features = 0x4010000; /* * 4 tasks, 65536 registers a core */
    u.gpu.max_threads = 2048;          /* * at 32 registers or fewer */
    u.gpu.thread_max_workgroup_size = 1024; /* * */
    u.gpu.thread_max_barrier_size = 1024;
    u.gpu.texture_features[0] = 0xc1ffff9e;
    u.gpu.as_present = 0xff;
    u.gpu.shader_present = 0x50005; /* 4 cores */
    u.gpu.l2_present = 1;
    u.gpu.tiler_present = 1;
    break;
  case DRM_PANTHOR_DEV_QUERY_CSIF_INFO:
    size = sizeof u.csif;
    u.csif.csg_slot_count = 8;
    u.csif.cs_slot_count = 8;
    u.csif.cs_reg_count = 96;
    u.csif.scoreboard_slot_count = 8;
    u.csif.unpreserved_cs_reg_count = 4;
    break;
  case DRM_PANTHOR_DEV_QUERY_TIMESTAMP_INFO:
    size = sizeof u.time;
    u.time.timestamp_frequency = 24000000;
    break;
  case DRM_PANTHOR_DEV_QUERY_GROUP_PRIORITIES_INFO:
    size = sizeof u.prio;
    u.prio.allowed_mask =
        1 << PANTHOR_GROUP_PRIORITY_LOW | 1 << PANTHOR_GROUP_PRIORITY_MEDIUM;
    break;
  default:
    return fail(EINVAL);
  }
  if (!q->pointer) {
    q->size = size;
    return 0;
  }
  memset((void *)(uintptr_t)q->pointer, 0, q->size);
  memcpy((void *)(uintptr_t)q->pointer, &u, q->size < size ? q->size : size);
  return 0;
}

static int panthor_ioctl(unsigned nr, void *arg) {
  switch (nr) {
  case DRM_PANTHOR_DEV_QUERY:
    return panthor_query(arg);
  case DRM_PANTHOR_VM_CREATE: {
    struct drm_panthor_vm_create *p = arg;
    p->id = next_id();
    if (!p->user_va_range)
      p->user_va_range = 1ull << 47;
    return 0;
  }
  case DRM_PANTHOR_VM_GET_STATE:
    ((struct drm_panthor_vm_get_state *)arg)->state =
        DRM_PANTHOR_VM_STATE_USABLE;
    return 0;
  case DRM_PANTHOR_BO_CREATE: {
    struct drm_panthor_bo_create *p = arg;
    p->handle = bo_new(p->size);
    return 0;
  }
  case DRM_PANTHOR_BO_MMAP_OFFSET: {
    struct drm_panthor_bo_mmap_offset *p = arg;
    if (p->handle >= MAX_BO)
      return fail(ENOENT);
    p->offset = bo[p->handle].offset;
    return 0;
  }
  case DRM_PANTHOR_GROUP_CREATE:
    ((struct drm_panthor_group_create *)arg)->group_handle = next_id();
    return 0;
  case DRM_PANTHOR_GROUP_GET_STATE:
    ((struct drm_panthor_group_get_state *)arg)->state = 0;
    return 0;
  case DRM_PANTHOR_TILER_HEAP_CREATE: {
    struct drm_panthor_tiler_heap_create *p = arg;
    p->handle = next_id();
    p->tiler_heap_ctx_gpu_va = GPU_VA_BASE;
    p->first_heap_chunk_gpu_va = GPU_VA_BASE + 4096;
    return 0;
  }
  case DRM_PANTHOR_VM_DESTROY:
  case DRM_PANTHOR_VM_BIND:
  case DRM_PANTHOR_GROUP_DESTROY:
  case DRM_PANTHOR_GROUP_SUBMIT:
  case DRM_PANTHOR_TILER_HEAP_DESTROY:
  case DRM_PANTHOR_BO_SET_LABEL:
    return 0;
  }
  return fail(ENOTTY);
}

/* ---- what every DRM driver answers */

static void put_string(char *to, __kernel_size_t *len, const char *s) {
  if (to)
    memcpy(to, s, *len < strlen(s) ? *len : strlen(s));
  *len = strlen(s);
}

static int core_ioctl(unsigned nr, void *arg) {
  switch (nr) {
  case 0x00: { /* DRM_IOCTL_VERSION; called twice, first to learn the lengths */
    struct drm_version *v = arg;
    v->version_major = 1;
    v->version_minor = target()->minor;
    v->version_patchlevel = 0;
    put_string(v->name, &v->name_len, target()->kernel);
    put_string(v->date, &v->date_len, "0");
    put_string(v->desc, &v->desc_len, "fakegpu");
    return 0;
  }
  case 0x09:
    bo_close(((struct drm_gem_close *)arg)->handle);
    return 0;
  case 0x0c: { /* DRM_IOCTL_GET_CAP */
    struct drm_get_cap *c = arg;
    c->value = c->capability == DRM_CAP_SYNCOBJ ||
               c->capability == DRM_CAP_SYNCOBJ_TIMELINE ||
               c->capability == DRM_CAP_TIMESTAMP_MONOTONIC;
    return 0;
  }
  case 0xbf:
    ((struct drm_syncobj_create *)arg)->handle = next_id();
    return 0;
  case 0xc0:
    return 0; /* SYNCOBJ_DESTROY */
  case 0xc3:
    ((struct drm_syncobj_wait *)arg)->first_signaled = 0;
    return 0;
  case 0xc4: /* SYNCOBJ_RESET */
  case 0xc5:
    return 0; /* SYNCOBJ_SIGNAL */
  case 0xca:
    ((struct drm_syncobj_timeline_wait *)arg)->first_signaled = 0;
    return 0;
  case 0xcb: { /* SYNCOBJ_QUERY */
    struct drm_syncobj_timeline_array *a = arg;
    memset((void *)(uintptr_t)a->points, 0,
           a->count_handles * sizeof(uint64_t));
    return 0;
  }
  case 0xcc: /* SYNCOBJ_TRANSFER */
  case 0xcd:
    return 0; /* SYNCOBJ_TIMELINE_SIGNAL */
  }
  return fail(ENOTTY);
}

/* ---- interposed functions */

int ioctl(int fd, unsigned long request, ...) {
  va_list ap;
  va_start(ap, request);
  void *arg = va_arg(ap, void *);
  va_end(ap);
  unsigned type = request >> 8 & 0xff, nr = request & 0xff;
  if (type != DRM_IOCTL_BASE || !is_ours(fd))
    return syscall(SYS_ioctl, fd, request, arg);
  int r = nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END
              ? target()->ioctl(nr - DRM_COMMAND_BASE, arg)
              : core_ioctl(nr, arg);
  if (r && getenv("FAKEGPU_TRACE"))
    fprintf(stderr, "fakegpu: ioctl 0x%02x refused: %s\n", nr, strerror(errno));
  return r;
}

static int open_file(int dir, const char *path, int flags, va_list ap) {
  if (!strcmp(path, NODE))
    return mem_open();
  mode_t mode =
      flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(ap, mode_t) : 0;
  return syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN(name)                                                             \
  int name(const char *path, int flags, ...) {                                 \
    va_list ap;                                                                \
    va_start(ap, flags);                                                       \
    int fd = open_file(AT_FDCWD, path, flags, ap);                             \
    va_end(ap);                                                                \
    return fd;                                                                 \
  }
OPEN(open)
OPEN(open64)

static int is_node(const char *path, mode_t *mode, dev_t *rdev) {
  if (strcmp(path, NODE))
    return 0;
  *mode = S_IFCHR | 0666;
  *rdev = makedev(DRM_MAJOR_NO, DRM_RENDER_MINOR);
  return 1;
}

int stat(const char *path, struct stat *s) {
  memset(s, 0, sizeof *s);
  return is_node(path, &s->st_mode, &s->st_rdev)
             ? 0
             : fstatat(AT_FDCWD, path, s, 0);
}

int stat64(const char *path, struct stat64 *s) {
  memset(s, 0, sizeof *s);
  return is_node(path, &s->st_mode, &s->st_rdev)
             ? 0
             : fstatat64(AT_FDCWD, path, s, 0);
}

int drmGetDevices2(uint32_t flags, drmDevicePtr out[], int max) {
  (void)flags;
  if (!out || max < 1)
    return 1;
  struct all {
    drmDevice device;
    char *nodes[DRM_NODE_MAX], *compatible[2];
    drmPlatformBusInfo bus;
    drmPlatformDeviceInfo info;
  } *a = calloc(1, sizeof *a);
  a->nodes[DRM_NODE_RENDER] = (char *)NODE;
  a->nodes[DRM_NODE_PRIMARY] = a->nodes[DRM_NODE_CONTROL] = (char *)"";
  a->compatible[0] = (char *)target()->compat;
  a->info.compatible = a->compatible;
  snprintf(a->bus.fullname, sizeof a->bus.fullname, "/soc/gpu");
  a->device.nodes = a->nodes;
  a->device.available_nodes = 1 << DRM_NODE_RENDER;
  a->device.bustype = DRM_BUS_PLATFORM;
  a->device.businfo.platform = &a->bus;
  a->device.deviceinfo.platform = &a->info;
  out[0] = &a->device;
  return 1;
}

int drmGetDevice2(int fd, uint32_t flags, drmDevicePtr *out) {
  return is_ours(fd) && drmGetDevices2(flags, out, 1) == 1 ? 0 : -ENODEV;
}

void drmFreeDevice(drmDevicePtr *d) {
  if (d)
    free(*d), *d = NULL;
}

void drmFreeDevices(drmDevicePtr d[], int n) {
  while (d && n-- > 0)
    drmFreeDevice(&d[n]);
}
