import { createHmac } from 'node:crypto'
import { APPROVAL_WEBHOOK, type ApprovalNews } from '../../app/durable/approvals.ts'
import type { Installation } from '../../app/installation.ts'
import { ALERT_WEBHOOK } from '../../app/service-levels/objectives.ts'
import type { News, WebhookTask } from '../../app/webhook-queue.ts'
import { expandVariables, variableProblem } from '../../core/environment.ts'
import { connectionProblem } from '../../core/failure.ts'
import { writeLog } from '../../core/log.ts'
import { guardedFetch } from '../../kinds/http/network/guarded-agent.ts'
import { type Task, TaskError, type TaskName } from './job-run.ts'

/** The pauses between attempts: about 45 minutes in all. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000, 600_000, 1_800_000]
const TIMEOUT_MS = 10_000
/** After a failure, others don't wait for the same receiver. */
const DOWN_MS = 900

/** A webhook of the configuration. */
interface Webhook {
  readonly section: 'approvals' | 'alerts'
  /** What the news is about, for the log. */
  readonly what: 'approval' | 'alerts'
  /** The same for the same news, so that a receiver can tell that it got it twice. */
  readonly idOf: (news: News) => string
}

const WEBHOOKS = new Map<WebhookTask, Webhook>([
  [
    APPROVAL_WEBHOOK,
    { section: 'approvals', what: 'approval', idOf: (news) => `${news.id}.${(news as ApprovalNews).status}` },
  ],
  [ALERT_WEBHOOK, { section: 'alerts', what: 'alerts', idOf: ({ id }) => id }],
])

/**
 * Post news to the webhooks of the configuration, signed as https://www.standardwebhooks.com describes: HMAC-SHA-256 of id,
 * time and body. A receiver may get the same news twice, with the same id.
 */
export const webhookTasks = (installation: Installation): [TaskName, Task][] =>
  [...WEBHOOKS].map(([name, webhook]) => [name, webhookTask(installation, name, webhook)])

/** Between attempts the news holds no place of a job. */
function webhookTask(installation: Installation, name: WebhookTask, webhook: Webhook): Task {
  const { clock, log } = installation
  let downUntil = Number.NEGATIVE_INFINITY
  return {
    repeatable: true,
    async run(params) {
      const { attempt = 0, ...news } = params as News
      const wait = PAUSES_MS[attempt]
      const isDown = wait !== undefined && clock.now() < downUntil
      const problem = isDown ? 'The receiver failed a moment ago' : await post(installation, webhook, news)
      if (problem === undefined) return null
      if (!isDown) downUntil = clock.now() + DOWN_MS
      const level = wait === undefined ? 'error' : 'warn'
      writeLog(log, level, { [webhook.what]: news.id, problem }, `The ${webhook.section} webhook was not delivered`)
      if (wait === undefined) throw new TaskError(problem)
      installation.webhooks.addLater(name, { ...news, attempt: attempt + 1 }, wait)
      return null
    },
  }
}

const ENCODED = 'whsec_'

/** The secrets of Standard Webhooks are base64 after a prefix; any other is the key itself. */
export function webhookSignature(secret: string, signed: string): string {
  const key = secret.startsWith(ENCODED) ? Buffer.from(secret.slice(ENCODED.length), 'base64') : secret
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}

/** Sends the news once. Returns the problem, without address and secret. */
async function post(
  { config, env, clock }: Installation,
  { section, idOf }: Webhook,
  news: News,
): Promise<string | undefined> {
  const { webhook } = config[section] ?? {}
  if (webhook === undefined) return undefined
  const problem = variableProblem(webhook.url + webhook.secret, env)
  if (problem !== undefined) return problem
  const [url, secret] = [expandVariables(webhook.url, env), expandVariables(webhook.secret, env)]
  if (!URL.canParse(url.text)) return `${section}.webhook.url is not an address`
  const id = idOf(news)
  const time = String(Math.floor(clock.wall() / 1_000))
  const body = JSON.stringify(news)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': webhookSignature(secret.text, `${id}.${time}.${body}`),
  }
  try {
    const send = guardedFetch(new URL(url.text), config.http?.allow_private)
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await send(url.text, { method: 'POST', headers, body, redirect: 'error', signal })
    await response.body?.cancel()
    return response.ok ? undefined : `The receiver answered with status ${response.status}`
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return 'The receiver did not answer'
    const problem = connectionProblem(error)
    return `The receiver could not be reached${problem === undefined ? '' : `: ${problem}`}`
  }
}
