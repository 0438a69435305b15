/** Something about a device or the broker that the caller should read, as one sentence or two. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError'
}
