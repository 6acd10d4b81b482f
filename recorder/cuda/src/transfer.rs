//! Copies and fills.

use cudarc::driver::{
    DevicePtr, DevicePtrMut, DeviceRepr, DriverError, HostSlice, ValidAsZeroBits, result,
};

use crate::error::Error;
use crate::stream::Stream;

const DEVICE: &str = "device";
/// The kind of host memory is unknown: cudarc does not tell.
const NOT_KNOWN: &str = "";

fn fits(from: usize, to: usize) -> Result<(), Error> {
    if from <= to {
        return Ok(());
    }
    Err(Error::Length { from, to })
}

impl Stream {
    /// Records a row of `transfers` around `submit`, which must submit one copy or fill to the stream and
    /// nothing else.
    fn transfer(
        &self,
        (direction, action): (&'static str, &'static str),
        bytes: usize,
        (from, to): (&'static str, &'static str),
        submit: impl FnOnce() -> Result<(), DriverError>,
    ) -> Result<(), Error> {
        let rec = &self.cuda.rec;
        let mut guard = rec.transfer(direction, bytes as u64, self.cuda.number(), self.number);
        guard.memory(from, to);
        guard.begin();
        match submit() {
            Ok(()) => {
                guard.end();
                let id = guard.id();
                drop(guard);
                self.came(id);
                Ok(())
            }
            Err(error) => {
                guard.cancel();
                Err(Error::call(action)(error))
            }
        }
    }

    fn bind(&self, action: &'static str) -> Result<(), Error> {
        self.context().bind_to_thread().map_err(Error::call(action))
    }

    /// Copies to the device. From memory that is not pinned the call may wait for the copy, as
    /// [`Stream::copy_to_host`] does.
    ///
    /// # Errors
    /// It does not fit; what the driver says.
    pub fn copy_to_device<T: DeviceRepr>(
        &self,
        from: &(impl HostSlice<T> + ?Sized),
        to: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        const ACTION: &str = "cannot copy to the device";
        fits(from.len(), to.len())?;
        self.bind(ACTION)?;
        // SAFETY: used with this stream alone.
        let (from, _read) = unsafe { from.stream_synced_slice(&self.stream) };
        let (to, _written) = to.device_ptr_mut(&self.stream);
        let bytes = size_of_val(from);
        self.transfer(("h2d", ACTION), bytes, (NOT_KNOWN, DEVICE), || {
            // SAFETY: there are as many elements or more; what is still in flight is waited for by whoever uses or
            // frees the memory next, as cudarc has it.
            unsafe { result::memcpy_htod_async(to, from, self.cu_stream()) }
        })
    }

    /// Copies to the host. To memory that is not pinned the call waits for the copy, and so the event behind it comes
    /// only when the call has returned: the row is as long as the call.
    ///
    /// # Errors
    /// It does not fit; what the driver says.
    pub fn copy_to_host<T: DeviceRepr>(
        &self,
        from: &impl DevicePtr<T>,
        to: &mut (impl HostSlice<T> + ?Sized),
    ) -> Result<(), Error> {
        const ACTION: &str = "cannot copy to the host";
        fits(from.len(), to.len())?;
        self.bind(ACTION)?;
        let elements = from.len();
        let (from, _read) = from.device_ptr(&self.stream);
        // SAFETY: used with this stream alone.
        let (to, _written) = unsafe { to.stream_synced_mut_slice(&self.stream) };
        let to = &mut to[..elements];
        let bytes = size_of_val(to);
        self.transfer(("d2h", ACTION), bytes, (DEVICE, NOT_KNOWN), || {
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(to, from, self.cu_stream()) }
        })
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// It does not fit; what the driver says.
    pub fn copy_on_device<T: DeviceRepr>(
        &self,
        from: &impl DevicePtr<T>,
        to: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        const ACTION: &str = "cannot copy on the device";
        fits(from.len(), to.len())?;
        self.bind(ACTION)?;
        let bytes = from.num_bytes();
        let (from, _read) = from.device_ptr(&self.stream);
        let (to, _written) = to.device_ptr_mut(&self.stream);
        self.transfer(("d2d", ACTION), bytes, (DEVICE, DEVICE), || {
            // SAFETY: as above; both lie in memory of one address space.
            unsafe { result::memcpy_dtod_async(to, from, bytes, self.cu_stream()) }
        })
    }

    /// Fills with zeros.
    ///
    /// # Errors
    /// The driver's error.
    pub fn fill_zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        to: &mut impl DevicePtrMut<T>,
    ) -> Result<(), Error> {
        const ACTION: &str = "cannot fill device memory";
        self.bind(ACTION)?;
        let bytes = to.num_bytes();
        let (to, _written) = to.device_ptr_mut(&self.stream);
        self.transfer(("memset", ACTION), bytes, (NOT_KNOWN, DEVICE), || {
            // SAFETY: so many bytes are there, and zeros are a valid `T`.
            unsafe { result::memset_d8_async(to, 0, bytes, self.cu_stream()) }
        })
    }
}
