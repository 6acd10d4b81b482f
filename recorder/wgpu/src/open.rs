//! The way from a number to a device.

use std::sync::Arc;

use crate::device::WgpuDevice;
use crate::error::Error;

impl WgpuDevice {
    /// Opens an adapter by its number, in the order in which wgpu lists them (`WGPU_BACKEND` restricts it), with the
    /// limits that it has and, of features, [`WgpuDevice::features`].
    ///
    /// # Errors
    /// No such adapter, or it gives no device.
    pub fn open(number: usize) -> Result<Arc<Self>, Error> {
        let instance = wgpu::Instance::new(&wgpu::InstanceDescriptor::from_env_or_default());
        let backends = wgpu::Backends::from_env().unwrap_or(wgpu::Backends::all());
        let mut adapters = instance.enumerate_adapters(backends);
        let found = adapters.len();
        if number >= found {
            return Err(Error::NoAdapter { number, found });
        }
        let adapter = adapters.swap_remove(number);
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: None,
            required_features: Self::features(&adapter),
            required_limits: adapter.limits(),
            ..Default::default()
        }))
        .map_err(|error| Error::Device(error.to_string()))?;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Self::from_device(number, &adapter, &device, &queue))
    }
}
