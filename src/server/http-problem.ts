/** Why a request is not answered as it was meant to be: told as problem+json. */
export class HttpProblem extends Error {
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, title: string, detail?: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail === undefined ? title : `${title}: ${detail}`)
    this.name = 'HttpProblem'
    this.status = status
    this.title = title
    this.detail = detail
    this.headers = headers
  }

  toJSON(): object {
    const { title, status, detail, message } = this
    return { type: 'about:blank', title, status, ...(detail !== undefined && { detail }), error: message }
  }
}

export const PROBLEM_TYPE = 'application/problem+json'
