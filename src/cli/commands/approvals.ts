import { type Command, Option } from 'commander'
import { ApprovalError, type ApprovalView } from '../../app/durable/approvals.ts'
import type { Decision, PauseStatus } from '../../core/storage/pause-store.ts'
import { awaitServers, commandUser, hasStore, LONG_WAIT_MS, withInstallation } from '../common/open.ts'
import { readParams, type TenantOptions, tenantName } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const HELP = `
A tool with "approval" in its definition runs only after a person has approved the call.

Examples:
  $ toolyard approvals list
  $ toolyard approvals approve 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11
  $ toolyard approvals approve 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --params '{"amount":5}' --reason 'Half is enough'
  $ toolyard approvals reject 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --reason 'Not this month'`

const STATUSES: readonly PauseStatus[] = ['pending', 'approved', 'rejected', 'expired']
const ID = 'the id that "approvals list" shows'
const MAX_LISTED = 200

export function defineApprovals(approvals: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  approvals.addHelpText('after', HELP)

  approvals
    .command('list')
    .description('List the newest approvals with their parameters')
    .addOption(new Option('--status <status>', 'only these').choices([...STATUSES, 'all']).default('pending'))
    .option('--tenant <id>', 'only approvals of this tenant')
    .action(run(approvalsList))

  approvals
    .command('approve')
    .description('Approve a call')
    .argument('<id>', ID)
    .option('--params <json>', 'run the call with these parameters instead')
    .option('--reason <text>', 'recorded with the decision')
    .action(run((...args: [Terminal, string, DecideOptions]) => decide('approve', ...args)))

  approvals
    .command('reject')
    .description('Reject a call')
    .argument('<id>', ID)
    .option('--reason <text>', 'told to the caller')
    .action(run((...args: [Terminal, string, DecideOptions]) => decide('reject', ...args)))
}

interface ListOptions extends TenantOptions {
  readonly status: PauseStatus | 'all'
}

interface DecideOptions extends GlobalOptions {
  readonly params?: string
  readonly reason?: string
}

const HEAD = ['ID', 'STATUS', 'TENANT', 'CALLER', 'TOOL', 'PARAMETERS', 'EXPIRES']

/** `toolyard approvals list`: the newest approvals of one status. */
async function approvalsList(terminal: Terminal, options: ListOptions): Promise<number> {
  const tenant = options.tenant === undefined ? undefined : tenantName(options.tenant)
  const status = options.status === 'all' ? undefined : options.status
  const { approvals } = hasStore(terminal)
    ? await withInstallation(terminal, options, ({ approvals }) =>
        approvals.list({ tenant, status, limit: MAX_LISTED }),
      )
    : { approvals: [] }
  if (terminal.json) terminal.document({ approvals })
  else if (approvals.length === 0) terminal.note(`No ${status === undefined ? '' : `${status} `}approvals.`)
  else showTable(terminal, [HEAD, ...approvals.map(rowOf)])
  return 0
}

const rowOf = (approval: ApprovalView): string[] => {
  const { id, status, tenant, caller_name, tool, params, approved_params, expires_at, changed } = approval
  const shown = changed === null ? status : `${status}, changed`
  return [id, shown, tenant, caller_name, tool, JSON.stringify(approved_params ?? params), expires_at]
}

/** `toolyard approvals approve` and `reject`. The user of this machine may decide about every call. */
async function decide(decision: Decision, terminal: Terminal, id: string, options: DecideOptions): Promise<number> {
  const { reason } = options
  const params =
    options.params === undefined ? undefined : await readParams([options.params], undefined, terminal.stdin)
  const unknown = new UsageError(
    `There is no approval with the id '${printableLine(id)}': see "toolyard approvals list".`,
  )
  if (!hasStore(terminal)) throw unknown
  const decided = await withInstallation(terminal, options, async ({ approvals, storage, manager }) => {
    const tenant = await storage.pauses.tenantOf(id)
    if (tenant === undefined) throw unknown
    const { tool } = (await storage.pauses.get(tenant, id)) ?? {}
    const isThere = () => manager.getRegistry().find(tool ?? '') !== undefined
    if (decision === 'approve') await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere, terminal })
    return approvals.decide(tenant, id, { decision, params, reason }, commandUser())
  }).catch((error) => {
    throw error instanceof ApprovalError ? new UsageError(`${error.message}.`, { cause: error }) : error
  })
  if (terminal.json) terminal.document(decided)
  else terminal.result(`${decision === 'approve' ? 'Approved' : 'Rejected'} ${printableLine(id)}`)
  return 0
}
