//! The flight recorder of a whole gate.

#[cfg(feature = "flight-recorder")]
mod recorded;
#[cfg(not(feature = "flight-recorder"))]
mod without;
