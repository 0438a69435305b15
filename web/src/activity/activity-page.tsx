import { Suspense } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import { lazyPart } from '../parts/lazy-part.ts'
import { Empty, Loading } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'

const AuditLog = lazyPart(async () => (await import('./audit/audit-log.tsx')).AuditLog)
const RunList = lazyPart(async () => (await import('./runs/run-list.tsx')).RunList)
const CallList = lazyPart(async () => (await import('./calls/call-list.tsx')).CallList)
const CallPage = lazyPart(async () => (await import('./calls/call-page.tsx')).CallPage)
const ChatList = lazyPart(async () => (await import('./chats/chats.tsx')).ChatList)
const ChatPage = lazyPart(async () => (await import('./chats/chats.tsx')).ChatPage)
const Charts = lazyPart(async () => (await import('./charts/charts.tsx')).Charts)
const Costs = lazyPart(async () => (await import('./costs/costs.tsx')).Costs)
const Objectives = lazyPart(async () => (await import('./objectives/objectives.tsx')).Objectives)
const Connections = lazyPart(async () => (await import('./connections/connections.tsx')).Connections)

const ViewsPage = lazyPart(async () => (await import('./views/views-page.tsx')).ViewsPage)
const ViewBar = lazyPart(async () => (await import('./views/view-bar.tsx')).ViewBar)

const McpTrafficPage = lazyPart(async () => (await import('./connections/mcp-traffic.tsx')).McpTrafficPage)

const PARTS = [
  { href: '/activity/runs', title: 'Runs' },
  { href: '/activity/calls', title: 'Calls' },
  { href: '/activity/chats', title: 'Chats' },
  { href: '/activity', title: 'Audit log' },
  { href: '/activity/metrics', title: 'Metrics' },
  { href: '/activity/costs', title: 'Costs' },
  { href: '/activity/objectives', title: 'Objectives' },
  { href: '/activity/connections', title: 'Connections and limits' },
  { href: '/activity/views', title: 'Views' },
]

const isHere = (location: string, href: string): boolean =>
  location === href || (href !== '/activity' && location.startsWith(`${href}/`))

/** Runs, calls, chats, the audit log, metrics, costs, objectives, connections and limits. */
export function ActivityPage() {
  usePageTitle('Activity')
  const [location] = useLocation()
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight compact:sr-only">Activity</h1>
      <nav
        aria-label="Parts of Activity"
        className="my-4 flex flex-wrap gap-1 border-b border-line pb-2 compact:mt-0 compact:mb-1 compact:pb-0.5"
      >
        {PARTS.map(({ href, title }) => (
          <Link
            key={href}
            href={href}
            aria-current={isHere(location, href) ? 'page' : undefined}
            className="rounded-lg px-2.5 py-1.5 text-sm compact:py-0.5 font-medium text-muted hover:bg-sunk hover:text-ink aria-[current]:bg-sunk aria-[current]:text-ink"
          >
            {title}
          </Link>
        ))}
      </nav>
      <Suspense fallback={null}>
        <ViewBar />
      </Suspense>
      <Suspense fallback={<Loading what="this part" />}>
        <Switch>
          <Route path="/activity" component={AuditLog} />
          <Route path="/activity/runs" component={RunList} />
          <Route path="/activity/calls" component={CallList} />
          <Route path="/activity/calls/:id">{({ id }) => <CallPage id={decodeURIComponent(id)} key={id} />}</Route>
          <Route path="/activity/chats" component={ChatList} />
          <Route path="/activity/chats/:id">{({ id }) => <ChatPage id={decodeURIComponent(id)} key={id} />}</Route>
          <Route path="/activity/metrics" component={Charts} />
          <Route path="/activity/costs" component={Costs} />
          <Route path="/activity/objectives" component={Objectives} />
          <Route path="/activity/views" component={ViewsPage} />
          <Route path="/activity/connections" component={Connections} />
          <Route path="/activity/connections/:name">
            {({ name }) => <McpTrafficPage name={decodeURIComponent(name)} key={name} />}
          </Route>
          <Route>
            <Empty title="Page not found" action={{ label: 'Open the runs', href: '/activity/runs' }}>
              Check the address, or choose a part above.
            </Empty>
          </Route>
        </Switch>
      </Suspense>
    </>
  )
}
