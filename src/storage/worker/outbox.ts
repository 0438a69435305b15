import type { MessagePort } from 'node:worker_threads'
import type { Change } from '../../core/storage/storage.ts'
import type { LogMessage, News, Reply } from './messages.ts'
import { plainError } from './plain-error.ts'

/** Sends what comes together in one turn of the worker as one message. */
export class Outbox {
  readonly #port: MessagePort
  #replies: Reply[] = []
  #changes: Change[] = []
  #logs: LogMessage[] = []
  #scheduled = false

  constructor(port: MessagePort) {
    this.#port = port
  }

  reply(reply: Reply): void {
    this.#replies.push(reply)
    this.#schedule()
  }

  change(change: Change): void {
    this.#changes.push(change)
    this.#schedule()
  }

  log(line: LogMessage): void {
    this.#logs.push(line)
    this.#schedule()
  }

  flush(): void {
    this.#scheduled = false
    const news: News = { type: 'news', replies: this.#replies, changes: this.#changes, logs: this.#logs }
    this.#replies = []
    this.#changes = []
    this.#logs = []
    try {
      this.#port.postMessage(news)
    } catch {
      this.#port.postMessage({ ...news, replies: news.replies.map(sendable) })
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }
}

/** One value that is no plain data must not cost the others their answers, nor leave its own asker waiting. */
function sendable(reply: Reply): Reply {
  try {
    return structuredClone(reply)
  } catch (error) {
    return { id: reply.id, error: plainError(error) }
  }
}
