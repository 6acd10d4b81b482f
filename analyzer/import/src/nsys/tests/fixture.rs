//! Exports made for tests.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::nsys::IMPORTER;
use crate::read_back::{Imported, imported};

pub struct Export {
    folder: tempfile::TempDir,
}

impl Export {
    pub fn new(sql: &str) -> Self {
        let export = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        rusqlite::Connection::open(export.path())
            .unwrap()
            .execute_batch(&format!("PRAGMA synchronous=OFF; {sql}"))
            .unwrap();
        export
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("export.sqlite")
    }

    pub fn import(&self) -> Result<Imported, Error> {
        import(&self.path())
    }
}

pub fn import(path: &Path) -> Result<Imported, Error> {
    imported(&IMPORTER, path)
}

/// One row of each kind. The first begins at 100; the thread is 5 of process 5 (83886085).
pub const FULL: &str = "
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cuLaunchKernel'),
    (3, 'cudaMemcpyAsync_v3020'), (4, 'cudaStreamSynchronize_v3020'), (5, 'void saxpy<float>(float *)'),
    (6, 'saxpy'), (7, 'poll'), (8, 'layer'), (9, 'main');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (9, 0, 83886085);
CREATE TABLE GPU_CONTEXT_SWITCH_EVENTS (start INTEGER);
INSERT INTO GPU_CONTEXT_SWITCH_EVENTS VALUES (1);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (110, 600, 59, NULL, 8, 83886085, NULL), (100, 1000, 60, 'step', NULL, 83886085, NULL),
    (120, NULL, 34, 'mark', NULL, 83886085, NULL), (130, NULL, 59, 'open', NULL, 83886085, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (120, 150, 0, 83886085, 7, 1, 0), (125, 145, 1, 83886085, 7, 2, 0),
    (160, 170, 0, 83886085, 8, 3, 0), (200, 510, 0, 83886085, 9, 4, 0);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER);
INSERT INTO OSRT_API VALUES (700, 750, 83886085, 7, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
    gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    registersPerThread INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
    (300, 400, 0, 1, 13, 7, 83886080, 5, 6, 4, 2, 1, 128, 1, 1, 32, 64, 1024, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
    dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (400, 500, 0, 1, 13, 8, 83886080, 4096, 1, 1, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, memKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (520, 525, 0, 1, 13, 70, 83886080, 64, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (205, 505, 0, 1, 13, 9, 83886080, 2, 4294967295);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (510, 0, 1, 13, 71, 83886080, 3);
";
