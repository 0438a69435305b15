/** A request to change the configuration that is refused. The message says why and what to do, and has no secrets. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
  /** 409: the configuration has changed meanwhile. 422: the change can't be made. 429: too many at the same time. */
  readonly status: 409 | 422 | 429

  constructor(status: SetupError['status'], message: string) {
    super(message)
    this.status = status
  }
}
