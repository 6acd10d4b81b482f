// What of a recording stands in its file already: whoever ends a program without notice waits for that.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// How many records of kernels (10) stand in this process's spool: chunks of kind 4, each record behind its length.
static unsigned kernels_written(void) {
  unsigned kernels = 0;
  DIR *folder = getenv("TRUENO_CAPTURE") ? opendir(getenv("TRUENO_CAPTURE")) : NULL;
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char *rest;
    int file = strtol(entry->d_name, &rest, 10) == getpid() && *rest == '-' ? openat(dirfd(folder), entry->d_name, O_RDONLY) : -1;
    struct stat of;
    if (file < 0) continue;
    char *bytes = fstat(file, &of) == 0 ? malloc((size_t)of.st_size + 1) : NULL;
    ssize_t length = bytes ? read(file, bytes, (size_t)of.st_size) : 0;
    for (ssize_t at = 8, end; at + 16 <= length; at = end) {
      uint32_t header[2], record[2];
      memcpy(header, bytes + at, sizeof header);
      end = at + 16 + header[1];
      if (header[0] != 4 || end > length) continue;
      for (ssize_t in = at + 16; in + 8 <= end; in += 4 + record[0]) {
        memcpy(record, bytes + in, sizeof record);
        kernels += record[1] == 10;
      }
    }
    free(bytes);
    close(file);
  }
  closedir(folder);
  return kernels;
}

// Waits until so many stand there, however busy the machine is, or until none came for some seconds; whether they do.
static int all_written(unsigned wanted) {
  for (unsigned last = 0, still = 0; still < 1000; usleep(10000)) {
    unsigned found = kernels_written();
    if (found >= wanted) return 1;
    still = found == last ? still + 1 : 0;
    last = found;
  }
  return 0;
}
