import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { ChatView, ShownChat } from '../../../../src/server/http/views.ts'
import { useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { count, inBytes, inMoment } from '../../parts/figures.ts'
import { FilterText } from '../../parts/filter-text.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import { MarkdownView } from '../../parts/markdown-view.tsx'
import { ownValue } from '../../parts/own-value.ts'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { usePageTitle } from '../../parts/use-page-title.ts'
import { useAddress } from '../address.ts'
import { filtersOf } from '../list-view.ts'
import { PagedList } from '../paged-list.tsx'

const NAMES = ['caller']

/** The stored chats. */
export function ChatList() {
  const mayObserve = useMay('observe')
  const [params, change] = useAddress()
  if (!mayObserve) return <Empty title="Your key can’t view chats">It lacks the scope observe.</Empty>
  const filters = filtersOf(params, NAMES)
  return (
    <div className="grid grid-cols-1 gap-3 compact:gap-1">
      <h2 className="sr-only">Chats</h2>
      <search aria-label="Narrow down" className="max-w-xs">
        <FilterText
          label="Key"
          placeholder="Key or user id"
          value={filters.caller ?? ''}
          onChange={(caller) => change({ caller })}
        />
      </search>
      <PagedList<ShownChat>
        path="/api/chats"
        part="chats"
        filters={filters}
        one="chat"
        keyOf={({ id, caller }) => JSON.stringify([caller, id])}
        row={(chat) => <ChatRow chat={chat} />}
        empty={
          <Empty title="No chats yet" action={{ label: 'Read how to connect one', href: '/guide/guides/ai-sdk.html' }}>
            Conversations of AI SDK clients appear here. Yours in{' '}
            <Link href="/tools-testing" className="text-accent underline underline-offset-2">
              Testing
            </Link>{' '}
            are listed there.
          </Empty>
        }
        onClear={() => change({ caller: '', last: '' })}
        head={
          <div className={ROW}>
            <span>Last question</span>
            <span>Key</span>
            <span className="text-right">Turns</span>
            <span className="text-right">Size</span>
            <span className="text-right">Updated</span>
          </div>
        }
      />
    </div>
  )
}

const ROW =
  'grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 px-3 md:grid-cols-[minmax(0,1fr)_10rem_6rem_6rem_8.5rem]'

const ChatRow = ({ chat }: { readonly chat: ShownChat }) => (
  <Link
    href={`/activity/chats/${encodeURIComponent(chat.id)}?caller=${encodeURIComponent(chat.caller)}`}
    className={`${ROW} py-1.5 text-sm hover:bg-sunk compact:py-0 compact:text-xs`}
  >
    <span className="truncate font-medium">{chat.question || chat.id}</span>
    <span className="truncate text-muted max-md:hidden">{chat.caller}</span>
    <span className="text-right text-muted tabular-nums">{count(chat.turns, 'turn')}</span>
    <span className="text-right text-muted tabular-nums max-md:hidden">{inBytes(chat.bytes)}</span>
    <time dateTime={chat.updated_at} className="text-right whitespace-nowrap text-muted tabular-nums max-md:hidden">
      {inMoment(chat.updated_at)}
    </time>
    <span className="col-span-2 truncate text-xs text-muted md:hidden">
      {chat.caller}, {inMoment(chat.updated_at)}
    </span>
  </Link>
)

/** The messages of a chat. */
export function ChatPage({ id }: { readonly id: string }) {
  usePageTitle('Chat')
  const [address] = useAddress()
  const caller = address.get('caller') ?? ''
  const { data, error, refetch } = useQuery({
    queryKey: ['chats', id, caller],
    queryFn: ({ signal }) =>
      requestJson<ChatView>(`/api/chats/${encodeURIComponent(id)}?${new URLSearchParams({ caller })}`, { signal }),
  })
  if (data === undefined) {
    return error ? <Failed error={error} what="the chat" again={() => void refetch()} /> : <Loading what="the chat" />
  }
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm wrap-anywhere">
        <Link href="/activity/chats" className="text-accent underline underline-offset-2">
          Chats
        </Link>
        <span className="text-muted"> / {id}</span>
      </nav>
      <p className="mt-2 text-sm text-muted">
        {count(data.turns.length, 'turn')} of {data.caller} ·{' '}
        <Link
          href={`/activity/runs?caller=${encodeURIComponent(data.caller)}`}
          className="text-accent underline underline-offset-2"
        >
          all runs of this key
        </Link>
      </p>
      <ol aria-label="Turns" className="mx-auto mt-4 grid w-full max-w-5xl grid-cols-1 gap-8">
        {data.turns.map(({ id: turn, run_id, messages }) => (
          <li key={turn} className="grid grid-cols-1 gap-3">
            {withoutResults(messages).map((message, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a turn have a fixed place.
              <div key={index} className={`min-w-0 ${ownValue(LOOKS, message.role) ?? 'panel p-3 md:mr-16'}`}>
                <p className="text-xs font-medium text-muted">{message.role}</p>
                <Said message={message} turn={messages} />
              </div>
            ))}
            {run_id !== undefined && (
              <Link href={`/runs/${run_id}`} className="w-fit text-sm text-accent underline underline-offset-2">
                Open the run: timeline, tokens and cost
              </Link>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

const LOOKS: Readonly<Record<string, string>> = {
  user: 'justify-self-end rounded-2xl rounded-br-sm bg-accent-ground px-4 py-2 md:ml-16',
}

/** Results are JSON text, unless they have media. */
function valueIn(content: unknown): unknown {
  try {
    return typeof content === 'string' ? JSON.parse(content) : content
  } catch {
    return content
  }
}

type Message = ChatView['turns'][number]['messages'][number]

const callsOf = (message: Message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : [])

/** The messages of a turn, without results that are shown below their calls. */
function withoutResults(messages: readonly Message[]): readonly Message[] {
  const called = new Set(messages.flatMap(callsOf).map(({ id }) => id))
  return messages.filter((message) => message.role !== 'tool' || !called.has(message.tool_call_id))
}

interface SaidProps {
  readonly message: Message
  /** All messages of the turn. */
  readonly turn: readonly Message[]
}

function Said({ message, turn }: SaidProps) {
  const { content } = message
  return (
    <>
      {typeof content === 'string' && content !== '' && message.role === 'assistant' && (
        <div className="mt-1">
          <MarkdownView text={content} />
        </div>
      )}
      {typeof content === 'string' && message.role !== 'assistant' && message.role !== 'tool' && (
        <p className="mt-1 wrap-anywhere whitespace-pre-wrap">{content}</p>
      )}
      {message.role === 'tool' && (
        <div className="mt-1 overflow-x-auto">
          <JsonTree value={valueIn(content)} label="Result" />
        </div>
      )}
      {message.role !== 'tool' && typeof content === 'object' && content !== null && (
        <JsonTree value={content} label="Parts" />
      )}
      {callsOf(message).map((call) => (
        <Call
          key={call.id}
          tool={call.function.name}
          params={call.function.arguments}
          result={turn.find((one) => one.role === 'tool' && one.tool_call_id === call.id)?.content}
        />
      ))}
    </>
  )
}

interface CallProps {
  readonly tool: string
  /** As JSON text. */
  readonly params: string
  /** Undefined if the call has not ended. */
  readonly result: unknown
}

/** One line with the tool and its parameters. The result is folded. */
const Call = ({ tool, params, result }: CallProps) => (
  <details className="mt-2 rounded-lg bg-sunk p-2">
    <summary className="text-sm wrap-anywhere">
      <span className="font-mono font-medium">{tool}</span>
      <span className="ml-2 font-mono text-xs text-muted">{params}</span>
    </summary>
    <div className="mt-2 overflow-x-auto">
      {result === undefined ? (
        <p className="text-sm text-muted">No result yet.</p>
      ) : (
        <JsonTree value={valueIn(result)} label={`Result of ${tool}`} />
      )}
    </div>
    <Link href={`/tool/${encodeURIComponent(tool)}`} className="text-sm text-accent underline underline-offset-2">
      Open its tool
    </Link>
  </details>
)
