/* An NVML with two devices: the second one does not tell its power and utilization. */
#include <stdint.h>
#include <stdio.h>

typedef struct { unsigned int gpu, memory; } utilization;
typedef struct { unsigned long long total, free, used; } memory;

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
    *device = (void *)(uintptr_t)(index + 1);
    return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned int length) {
    snprintf(name, length, "Fake %d", (int)(uintptr_t)device);
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, utilization *rates) {
    if ((uintptr_t)device == 2) return 3;
    rates->gpu = 75;
    rates->memory = 10;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, memory *info) {
    (void)device;
    info->total = 16ull << 30;
    info->used = 5ull << 30;
    info->free = 11ull << 30;
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts) {
    if ((uintptr_t)device == 2) return 3;
    *milliwatts = 250500;
    return 0;
}
