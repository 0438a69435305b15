/** Why a server cannot be started, in a sentence that says what to do. */
export class ServeError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ServeError'
  }
}
