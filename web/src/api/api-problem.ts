/** A failed request. `status` is 0 if the server did not answer. */
export class ApiProblem extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiProblem'
    this.status = status
  }

  /** The server did not answer. */
  get unreachable(): boolean {
    return this.status === 0
  }
}
