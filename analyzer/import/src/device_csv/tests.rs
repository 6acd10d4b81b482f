use std::path::{Path, PathBuf};

use super::{IMPORTER, import_set, set_in};
use crate::Options;
use crate::read_back::{Imported, imported, of_bytes, read_back, recognises};

const KERNEL_HEAD: &str = r#""Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z""#;
const API_HEAD: &str = r#""Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp""#;

fn read(text: &str) -> Imported {
    of_bytes(&IMPORTER, text, &Options::default()).unwrap()
}

#[test]
fn a_kernel_trace_of_rocprofv3_has_kernels_in_blocks() {
    let run = read(&format!(
        "{KERNEL_HEAD}\n\"KERNEL_DISPATCH\",\"Agent 4\",1,0,77,1,10,\"gemm<float>(float*, int)\",1,1000,3000,512,0,8,0,16,64,1,1,1000,2,1\n\"KERNEL_DISPATCH\",\"Agent 4\",2,3,77,2,11,\"__amd_rocclr_copyBuffer\",2,4000,4500,0,0,8,0,16,64,1,1,64,1,1\n"
    ));
    let columns =
        "name device stream correlation start_ns dur_ns grid_x grid_y block_x registers smem";
    assert_eq!(
        run.rows("kernels", columns),
        [
            "gemm<float>(float*, int) 4 1 1 0 2000 16 2 64 8 512",
            "__amd_rocclr_copyBuffer 4 3 2 3000 500 1 1 64 8 0",
        ]
    );
    assert_eq!(run.wall_ns, Some(3_500));
    assert_eq!(run.run.clock.source, "imported: device csv");
}

#[test]
fn the_tables_of_a_program_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("host");
    std::fs::create_dir(&inner).unwrap();
    let write = |name: &str, text: String| std::fs::write(inner.join(name), text).unwrap();
    write(
        "7_kernel_trace.csv",
        format!(
            "{KERNEL_HEAD}\n\"KERNEL_DISPATCH\",\"Agent 2\",1,0,7,1,10,\"gemm\",1,2000,3000,0,0,8,0,16,64,1,1,64,1,1\n"
        ),
    );
    write(
        "7_hip_api_trace.csv",
        format!(
            "{API_HEAD}\n\"HIP_RUNTIME_API\",\"hipLaunchKernel\",7,7,1,1000,1500\n\"HIP_RUNTIME_API\",\"hipDeviceSynchronize\",7,7,2,1600,3100\n"
        ),
    );
    write(
        "7_marker_api_trace.csv",
        format!(
            "{API_HEAD}\n\"MARKER_CORE_RANGE_API\",\"forward\",7,7,3,900,3200\n\"MARKER_CORE_API\",\"mark\",7,7,4,950,950\n"
        ),
    );
    write(
        "7_memory_copy_trace.csv",
        "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",1,\"Agent 0\",\"Agent 2\",0,500,800\n".to_owned(),
    );
    write(
        "7_agent_info.csv",
        "\"Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Name\",\"Product_Name\"\n0,\"CPU\",0,\"EPYC\",\"EPYC\"\n2,\"GPU\",304,\"gfx942\",\"AMD Instinct MI300X\"\n".to_owned(),
    );
    write(
        "7_counter_collection.csv",
        "\"Correlation_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n1,1,\"gemm\",\"SQ_WAVES\",16,2000,3000\n".to_owned(),
    );
    write("notes.csv", "a,b\n1,2\n".to_owned());
    write("rank0.json", "{}".to_owned());
    assert_eq!(set_in(folder.path()), None, "a job of traces");
    std::fs::rename(inner.join("rank0.json"), inner.join("7_results.json")).unwrap();
    let files = set_in(folder.path()).unwrap();
    assert_eq!(files.len(), 6);
    let import = |files: &[PathBuf]| {
        read_back(&files[0], &Options::default(), |import| {
            import_set(files, import)
        })
    };
    let run = import(&files).unwrap();
    assert_eq!(run.rows("kernels", "name device thread"), ["gemm 2 0"]);
    // Also beside a trace of kernels.
    assert_eq!(run.rows("diagnostics", "code"), ["kernels_one_by_one"]);
    let calls = run.rows("calls", "name start_ns");
    assert_eq!(calls, ["hipLaunchKernel 500", "hipDeviceSynchronize 1100"]);
    assert_eq!(run.rows("syncs", "kind"), ["device"]);
    assert_eq!(run.rows("bricks", "name dur_ns"), ["forward 2300"]);
    assert_eq!(run.rows("annotations", "name"), ["mark"]);
    assert_eq!(run.rows("transfers", "direction device"), ["h2d 2"]);
    let devices = run.rows("devices", "device name multiprocessors");
    assert_eq!(devices, ["gpu:2 AMD Instinct MI300X 304"]);
    let kernel = run.rows("kernels", "id").concat();
    assert_eq!(
        run.rows("counters", "name value span"),
        [format!("SQ_WAVES 16 {kernel}")]
    );
    assert_eq!(run.rows("edges", "kind"), ["launches"]);
}

/// nvprof's rows of unified memory: pages that move are copies, faults are no work.
#[test]
fn pages_of_unified_memory_are_copies_and_faults_are_left_out() {
    let run = read(
        "==7== NVPROF is profiling process 7\n\"Start\",\"Duration\",\"Size\",\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"\n\
         ms,us,MB,,,,,\n1,5,,Tesla V100 (0),1,7,k(),9\n2,5,0.5,Tesla V100 (0),,,[Unified Memory Memcpy HtoD],\n\
         3,5,,Tesla V100 (0),,,[Unified Memory GPU page faults],\n",
    );
    assert_eq!(run.rows("kernels", "name"), ["k()"]);
    assert_eq!(run.rows("transfers", "direction bytes"), ["h2d 500000"]);
    assert_eq!(
        run.notes.left_out.values().sum::<u64>(),
        1,
        "{:?}",
        run.notes.left_out
    );
}

#[test]
fn tables_of_other_tools_are_told_by_their_columns() {
    // nsys stats
    let run = read(
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n100,50,5,8,1,1,128,1,1,32,0.001,0.000,,,,,NVIDIA A100 (1),1,7,gemm\n200,10,6,,,,,,,,,,4.194,1000,Pinned,Device,NVIDIA A100 (1),1,7,[CUDA memcpy HtoD]\n",
    );
    let columns = "name device stream grid_x smem";
    assert_eq!(run.rows("kernels", columns), ["gemm 1 7 8 1000"]);
    let columns = "direction bytes device src_kind";
    assert_eq!(run.rows("transfers", columns), ["h2d 4194000 1 pinned"]);
    // nvprof, with a preamble and units in a row of their own
    let run = read(
        "==7== NVPROF is profiling process 7\n==7== Profiling result:\n\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Size\",\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"\nms,us,,,,,,,,MB,,,,,\n293.571439,2.5,4,1,1,32,1,1,16,,Tesla K80 (0),1,7,\"k(int*)\",9\n",
    );
    let columns = "name device stream dur_ns";
    assert_eq!(run.rows("kernels", columns), ["k(int*) 0 7 2500"]);
    // Ascend
    let run = read(
        "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num\n1,3,4294967295,77,2,aclnnMm_MatMul,MatMulV2,AI_CORE,\"1704161511420289.123\t\",10.5,0.1,20\n",
    );
    let columns = "name device stream dur_ns";
    assert_eq!(run.rows("kernels", columns), ["aclnnMm_MatMul 3 2 10500"]);
    assert_eq!(run.run.clock.origin_realtime_ns, 1_704_161_511_420_289_123);
    // rocprof of version 1
    let run = read(
        "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\",\"tid\",\"grd\",\"wgp\",\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\",\"wave_size\",\"sig\",\"obj\",\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\"\n0,\"vadd\",2,0,0,5,5,1024,256,0,0,8,0,16,64,0x0,0x7f,10,20,70,80,50\n",
    );
    let columns = "name device stream dur_ns grid_x";
    assert_eq!(run.rows("kernels", columns), ["vadd 2 0 50 4"]);
    // nvidia-smi
    let run = read(
        "timestamp, index, utilization.gpu [%], memory.used [MiB], name\n2024/05/01 12:00:00.000, 1, 35 %, 1024 MiB, A100\n2024/05/01 12:00:01.000, 1, 40 %, 1030 MiB, A100\n",
    );
    assert_eq!(
        run.rows("counters", "name value time_ns"),
        [
            "gpu1 utilization.gpu [%] 35 0",
            "gpu1 memory.used [MiB] 1024 0",
            "gpu1 utilization.gpu [%] 40 1000000000",
            "gpu1 memory.used [MiB] 1030 1000000000",
        ]
    );
}

#[test]
fn copies_of_every_version_of_nsys_stats_have_directions_and_a_rounded_zero_is_no_size() {
    let copy = |bytes: &str, ends: &str, name: &str| {
        format!("100,50,5,,,,,,,,,,{bytes},1000,{ends},NVIDIA A100 (1),1,,7,[CUDA memcpy {name}]\n")
    };
    let run = read(&format!(
        "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n{}{}{}{}90,10,4,1,1,1,32,1,1,8,0.000,0.000,,,,,NVIDIA A100 (1),1,,7,k\n",
        copy("0.038", "Pageable,Device", "Host-to-Device"),
        copy("0.000", "Device,Pinned", "Device-to-Host"),
        copy("0.001", "Device,Array", "Device-to-Array"),
        copy("4.194", ",", "HtoD"),
    ));
    let columns = "direction bytes src_kind dst_kind";
    let mut copies = run.rows("transfers", columns);
    copies.sort();
    assert_eq!(
        copies,
        [
            "d2d 1000 device array",
            "d2h - device pinned",
            "h2d 38000 pageable device",
            "h2d 4194000 - -",
        ]
    );
    assert_eq!(run.rows("kernels", "name smem"), ["k -"]);
    assert!(run.warns("Bytes (MB) of the file is rounded to 1000 bytes"));
}

#[test]
fn counters_without_a_kernel_trace_give_their_kernels() {
    let row = |dispatch: u32, name: &str, counter: &str, start: u32| {
        format!(
            "{dispatch},{dispatch},\"Agent 1\",1,77,77,1024,9,\"{name}\",512,0,0,16,0,128,\"{counter}\",5,{start},{}\n",
            start + 400
        )
    };
    let run = read(&format!(
        "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n{}{}{}{}",
        row(1, "a", "Wavefronts", 1000),
        row(1, "a", "L2CacheHit", 1000),
        row(2, "b", "Wavefronts", 2000),
        row(2, "b", "L2CacheHit", 2000),
    ));
    let columns = "name device start_ns dur_ns grid_x block_x";
    assert_eq!(
        run.rows("kernels", columns),
        ["a 1 0 400 2 512", "b 1 1000 400 2 512"]
    );
    let ids = run.rows("kernels", "id");
    let (a, b) = (&ids[0], &ids[1]);
    let mut counters = run.rows("counters", "time_ns name value span source");
    counters.sort();
    assert_eq!(
        counters,
        [
            format!("0 L2CacheHit 5 {a} measured"),
            format!("0 Wavefronts 5 {a} measured"),
            format!("1000 L2CacheHit 5 {b} measured"),
            format!("1000 Wavefronts 5 {b} measured"),
        ]
    );
    assert!(run.warns("one at a time while it counts"));
    assert_eq!(
        run.rows("diagnostics", "code count"),
        ["kernels_one_by_one 1"]
    );
}

#[test]
fn kernels_of_ascend_keep_what_the_profiler_counted() {
    let run = read(
        "Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,aicore_time(us),aic_mac_fp16_ratio,aic_cube_fops,aic_vector_fops,aiv_time(us),aiv_vec_fp32_ratio,aiv_vector_fops\n\
         1,4294967295,9,16,mm,MatMul,AI_CORE,100.5,20,1.5,24,\"\"\"4,8;8,2\"\"\",19.25,0.893,4096,64,0,0,0\n\
         1,4294967295,N/A,N/A,hcom_broadcast_,hcom,HCCL,200,20,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n",
    );
    let kernels = run.rows("kernels", "name start_ns id");
    let id = kernels[0].rsplit_once(' ').unwrap().1;
    let mut counters = run.rows("counters", "name value span");
    counters.retain(|row| row.ends_with(&format!(" {id}")));
    counters.sort();
    assert_eq!(
        counters,
        [
            "Wait Time [us] 1.5",
            "aic_cube_fops 4096",
            "aic_mac_fp16_ratio 0.893",
            "aic_vector_fops 64",
            "aicore_time [us] 19.25",
            "flops 4160",
        ]
        .map(|row| format!("{row} {id}"))
    );
    let mut attributes = run.rows("attributes", "span name integer text");
    attributes.retain(|row| row.starts_with(id));
    attributes.sort();
    assert_eq!(
        attributes,
        [
            "Block Dim 24 -",
            "Input Shapes - \"4,8;8,2\"",
            "Step Id 1 -",
            "Task ID 9 -",
            "Type - MatMul",
            "accelerator core - AI_CORE",
        ]
        .map(|row| format!("{id} {row}"))
    );
    // task_time.csv
    let run = read(
        "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n\
         0,N/A,PROFILING_ENABLE,4,4,0.000,100.000\t,100.000\t\n\
         0,N/A,TASK_TIMEOUT_SET,4,5,81.4,110.000\t,191.400\t\n\
         0,N/A,EVENT_RECORD,4,6,0,191.400\t,191.400\t\n\
         0,main_kernel,MIX_AIC,6,0,50.5,200.000\t,250.500\t\n",
    );
    let columns = "name device stream dur_ns";
    assert_eq!(
        run.rows("kernels", columns),
        ["TASK_TIMEOUT_SET 0 4 81400", "main_kernel 0 6 50500"]
    );
}

#[test]
fn instances_of_one_operator_of_ascend_have_its_name() {
    for titles in [
        "Name,Type,Accelerator Core,Start Time(us)",
        "Op Name,OP Type,Task Type,Task Start Time(us)",
    ] {
        let rows = [
            ("MatMul104", "MatMul", "MatMul"),
            ("MatMul105", "MatMul", "MatMul"),
            ("ReduceSum147", "ReduceSumD", "ReduceSum"),
            ("LpNormReduceV2166", "LpNormReduceV2", "LpNormReduceV2"),
            ("MatMulV2", "MatMulV2", "MatMulV2"),
            ("MatMulV2", "MatMulV3", "MatMulV2"),
            ("Foo2", "Foo2D", "Foo2"),
            ("aclnnMm_MatMulV2", "MatMulV2", "aclnnMm_MatMulV2"),
            (
                "hcom_broadcast__445_0",
                "hcom_broadcast_",
                "hcom_broadcast__445_0",
            ),
            ("Cast9", "N/A", "Cast9"),
        ];
        let lines = rows.iter().zip(0..).map(|((name, kind, _), number)| {
            format!("1,{name},{kind},AI_CORE,{}00.5,20,2\n", 1 + number)
        });
        let lines: String = lines.collect();
        let run = read(&format!("Step Id,{titles},Duration(us),Stream ID\n{lines}"));
        let shown = run.rows("kernels", "name");
        assert_eq!(shown, rows.map(|(_, _, shown)| shown));
        let mut attributes = run.rows("attributes", "name text");
        attributes.retain(|row| row.starts_with("instance "));
        assert_eq!(attributes.len(), 4, "{attributes:?}");
        assert_eq!(attributes[0], "instance MatMul104");
    }
}

#[test]
fn sums_are_counters_and_the_run_has_no_length() {
    let run = read(
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\"gemm\",4,400,100,100,90,110,1\n",
    );
    assert_eq!(run.wall_ns, None);
    let counters = run.rows("counters", "name value");
    assert_eq!(
        counters[..2],
        ["sum: gemm calls 4", "sum: gemm total [ns] 400"]
    );
    assert!(run.warns("sums by name only"));
    let run = read(
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n0,MatMul,AI_CORE,3,31.5,9,10.5,12,50\n",
    );
    let counters = run.rows("counters", "name value");
    assert_eq!(
        counters[..2],
        ["sum: MatMul calls 3", "sum: MatMul total [ns] 31500"]
    );
}

#[test]
fn other_tables_are_not_taken_for_these_and_damage_is_counted() {
    for head in [
        "a,b,c\n1,2,3\n",
        "name,start,end\nx,1,2\n",
        "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\"\n",
        "Start_Timestamp,End_Timestamp\n",
        "",
    ] {
        assert!(!recognises(&IMPORTER, head.as_bytes()), "{head:?}");
    }
    let run = read(&format!(
        "{KERNEL_HEAD}\n\"KERNEL_DISPATCH\",\"Agent 4\",1,0,77,1,10,\"a\",1,1000,3000,0,0,8,0,16,64,1,1,64,1,1\n\"KERNEL_DISPATCH\",\"Agent 4\",1,0,77\n\"KERNEL_DISPATCH\",\"Agent 4\",1,0,77,1,10,\"b\",1,x,y,0,0,8,0,16,64,1,1,64,1,1\n"
    ));
    assert_eq!(run.rows("kernels", "name"), ["a"]);
    assert_eq!(
        run.notes.left_out.get("row without times that are numbers"),
        Some(&2)
    );
    assert!(imported(&IMPORTER, Path::new("/nowhere/x.csv")).is_err());
}
