import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { JobStore } from '../core/storage/job-store.ts'
import { APPROVAL_WEBHOOK, type ApprovalNews } from './durable/approvals.ts'
import type { ALERT_WEBHOOK, AlertNews } from './service-levels/objectives.ts'

/** What a webhook sends, and how often that has failed before, which is not sent. */
export type News = (ApprovalNews | AlertNews) & { readonly attempt?: number }

/** The task that posts news to a webhook. */
export type WebhookTask = typeof APPROVAL_WEBHOOK | typeof ALERT_WEBHOOK

const JOB_TIMEOUT_MS = 3_600_000
const MAX_WAITING = 10_000

interface QueueParts {
  readonly jobs: Pick<JobStore, 'create'>
  readonly config: () => Pick<Config, 'approvals' | 'alerts'>
  readonly clock: Clock
  readonly log: Log
}

/** Queues news for the webhooks of the configuration. A server delivers it, also if a command has caused it. */
export class WebhookQueue {
  readonly #parts: QueueParts
  /** News that waits for its next attempt. */
  readonly #waiting = new Map<News, { readonly task: WebhookTask; readonly cancel: () => void }>()

  constructor(parts: QueueParts) {
    this.#parts = parts
  }

  /** Rejects if the store fails. */
  async add(task: WebhookTask, news: News): Promise<void> {
    const { jobs, config, clock } = this.#parts
    const { webhook } = config()[task === APPROVAL_WEBHOOK ? 'approvals' : 'alerts'] ?? {}
    if (webhook === undefined) return
    const job = { id: randomUUID(), tenant: news.tenant, caller: null, tool: task, params: news }
    const created_at = new Date(clock.wall()).toISOString()
    await jobs.create({ ...job, timeout_ms: JOB_TIMEOUT_MS, created_at })
  }

  /** A failure is logged only. */
  async addOrLog(task: WebhookTask, news: News): Promise<void> {
    try {
      await this.add(task, news)
    } catch (err) {
      this.#parts.log.error({ err, task, news: news.id }, 'A notification could not be queued for its webhook')
    }
  }

  /** Queues news again after a pause; at once if the installation closes before. */
  addLater(task: WebhookTask, news: News, ms: number): void {
    const { clock, log } = this.#parts
    if (this.#waiting.size >= MAX_WAITING) {
      log.error({ task, news: news.id }, 'Too many notifications wait for a webhook: one is dropped')
      return
    }
    const cancel = clock.after(ms, () => {
      this.#waiting.delete(news)
      void this.addOrLog(task, news)
    })
    this.#waiting.set(news, { task, cancel })
  }

  async close(): Promise<void> {
    for (const [news, { task, cancel }] of this.#waiting) {
      cancel()
      await this.addOrLog(task, news)
    }
  }
}
