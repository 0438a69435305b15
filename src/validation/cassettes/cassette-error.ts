/** A cassette that cannot be made, read or used; or a replay that does not go as the run went. */
export class CassetteError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CassetteError'
  }
}
