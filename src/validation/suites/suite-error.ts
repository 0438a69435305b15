/** A suite that cannot be run as it is; the message names the file, the case, the path and what to do. */
export class SuiteError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SuiteError'
  }
}
