import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { Suspense } from 'react'
import { Link, Route, Switch } from 'wouter'
import { ApiProblem } from './api/api-problem.ts'
import { whenServerReturns } from './api/connection.ts'
import { Layout } from './layout/layout.tsx'
import { Announcements } from './parts/announce.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { lazyPart } from './parts/lazy-part.ts'
import { PENDING_LINK } from './parts/pending-link.ts'
import { Empty, Loading } from './parts/states.tsx'
import { usePageTitle } from './parts/use-page-title.ts'
import { SignedIn } from './session/signed-in.tsx'

const ToolsPage = lazyPart(async () => (await import('./tools/tools-page.tsx')).ToolsPage)
const ToolPage = lazyPart(async () => (await import('./tools/tool-page.tsx')).ToolPage)
const TestingPage = lazyPart(async () => (await import('./testing/testing-page.tsx')).TestingPage)
const ModelsPage = lazyPart(async () => (await import('./models/models-page.tsx')).ModelsPage)
const SuiteRunPage = lazyPart(async () => (await import('./models/suites/suite-run-page.tsx')).SuiteRunPage)
const SavedSuitePage = lazyPart(async () => (await import('./models/suites/saved-suite-page.tsx')).SavedSuitePage)
const ActivityPage = lazyPart(async () => (await import('./activity/activity-page.tsx')).ActivityPage)
const SettingsPage = lazyPart(async () => (await import('./settings/settings-page.tsx')).SettingsPage)
const SetupPage = lazyPart(async () => (await import('./setup/setup-page.tsx')).SetupPage)
const ConnectPage = lazyPart(async () => (await import('./settings/connections.tsx')).ConnectPage)
const ApprovalsPage = lazyPart(async () => (await import('./approvals/approvals-page.tsx')).ApprovalsPage)
const ApprovalPage = lazyPart(async () => (await import('./approvals/approval-page.tsx')).ApprovalPage)
const RunPage = lazyPart(async () => (await import('./runs/run-page.tsx')).RunPage)

/** Sign-in at an issuer comes back to the start page, which then goes on with the connect URL. */
const { pathname, search } = window.location
const pendingLink = pathname === '/' ? sessionStorage.getItem(PENDING_LINK) : null
if (pathname === '/connect') sessionStorage.setItem(PENDING_LINK, search)
if (pendingLink !== null) window.history.replaceState(null, '', `/connect${pendingLink}`)

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // The key was revoked, or the first key was created: show the sign-in form.
      const unknown = error instanceof ApiProblem && error.status === 401
      if (unknown && query.queryKey[0] !== 'session') void client.invalidateQueries({ queryKey: ['session'] })
    },
  }),
  defaultOptions: {
    // While the server is away only the connection retries; then all queries are refetched.
    queries: { retry: false, staleTime: 5_000, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
whenServerReturns(() => void client.invalidateQueries())

function NotFound() {
  usePageTitle('Not found')
  return (
    <Empty title="Page not found">
      Check the address, or go to{' '}
      <Link href="/" className="text-accent underline">
        Tools
      </Link>
      .
    </Empty>
  )
}

/** The whole page. */
export const App = () => (
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={client}>
      <Layout>
        <SignedIn>
          <ErrorBoundary>
            <Suspense fallback={<Loading what="the page" />}>
              <Switch>
                <Route path="/" component={ToolsPage} />
                <Route path="/tool/:name">{({ name }) => <ToolPage name={name} key={name} />}</Route>
                <Route path="/tools-testing/:thread?">{({ thread }) => <TestingPage thread={thread} />}</Route>
                <Route path="/models/runs/:id">{({ id }) => <SuiteRunPage id={id} key={id} />}</Route>
                <Route path="/models/suites/:name">{({ name }) => <SavedSuitePage name={name} key={name} />}</Route>
                <Route path="/models" component={ModelsPage} />
                <Route path="/activity/*?" component={ActivityPage} />
                <Route path="/approvals/:id">{({ id }) => <ApprovalPage id={id} key={id} />}</Route>
                <Route path="/approvals" component={ApprovalsPage} />
                <Route path="/connect" component={ConnectPage} />
                <Route path="/settings" component={SettingsPage} />
                <Route path="/setup/:job?">{({ job }) => <SetupPage job={job} />}</Route>
                <Route path="/runs/:id">{({ id }) => <RunPage id={id} key={id} />}</Route>
                <Route>
                  <NotFound />
                </Route>
              </Switch>
            </Suspense>
          </ErrorBoundary>
        </SignedIn>
      </Layout>
      <Announcements />
    </QueryClientProvider>
  </CSPProvider>
)
