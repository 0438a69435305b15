/** Why the server did not do what it was asked. `status` is 0 where it did not answer at all. */
export class ApiProblem extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiProblem'
    this.status = status
  }

  /** The server is away, or was when this was asked. */
  get unreachable(): boolean {
    return this.status === 0
  }
}
