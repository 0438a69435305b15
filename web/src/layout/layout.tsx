import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { sessionQuery } from '../api/queries.ts'
import { usePending } from '../approvals/approval-queries.ts'
import { DensitySwitch } from '../parts/density.tsx'
import { Toasts } from '../parts/toast.tsx'
import { SignOut } from '../session/sign-out.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { useKeptFocus } from './keep-focus.ts'
import { focusLeftLink, placeToGo } from './scroll-memory.ts'
import { Shortcuts } from './shortcuts.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

/** The pages and their paths. */
const PAGES = [
  { href: '/', title: 'Tools', here: /^\/(tool\/.*)?$/ },
  { href: '/tools-testing', title: 'Testing', here: /^\/tools-testing(\/.*)?$/ },
  { href: '/models', title: 'Models', here: /^\/models(\/.*)?$/ },
  { href: '/activity', title: 'Activity', here: /^\/(activity|runs)(\/.*)?$/ },
  { href: '/settings', title: 'Settings', here: /^\/(settings$|setup(\/|$))/ },
]

/** Shown if a tool needs approval, and the key may approve. */
const APPROVALS = { href: '/approvals', title: 'Approvals', here: /^\/approvals(\/.*)?$/ }

/** The frame of every page: navigation, connection notice and theme. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const { data: session } = useQuery(sessionQuery)
  useKeptFocus()
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-lg focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the content
      </a>
      {/* Not sticky in narrow windows, where it has two lines. */}
      <header className="z-30 border-b border-line bg-panel lg:sticky lg:top-0">
        <div className="mx-auto flex wide flex-wrap items-center gap-x-1 px-4 max-lg:py-1.5 lg:h-12 lg:flex-nowrap">
          <Link
            href="/"
            className="mr-2 flex shrink-0 items-center gap-2 font-semibold tracking-tight"
            aria-label="Toolyard"
          >
            <img src="/assets/toolyard.svg" alt="" width="26" height="26" />
            <span>Toolyard</span>
          </Link>
          <Navigation />
          <div className="ml-auto flex items-center gap-1">
            {session !== undefined && session.state !== 'signed_out' && <Shortcuts />}
            <a href="/guide/" className="rounded-lg px-2.5 py-1.5 text-sm text-muted hover:bg-sunk hover:text-ink">
              Docs
            </a>
            <a href="/docs" className="rounded-lg px-2.5 py-1.5 text-sm text-muted hover:bg-sunk hover:text-ink">
              API
            </a>
            <span className="max-md:hidden">
              <DensitySwitch />
            </span>
            <ThemeSwitch />
            {session?.user !== undefined && (
              <span className="hidden px-1 text-sm text-muted md:inline">{session.name}</span>
            )}
            {session?.state === 'signed_in' && <SignOut name={session.name ?? 'key'} tenant={session.tenant ?? ''} />}
          </div>
        </div>
      </header>
      <Main>{children}</Main>
      <ConnectionNotice />
      <Toasts />
    </div>
  )
}

function Navigation() {
  const [location] = useLocation()
  const pending = usePending()
  const pages = pending === undefined ? PAGES : [...PAGES.slice(0, -1), APPROVALS, ...PAGES.slice(-1)]
  return (
    <nav
      aria-label="Pages"
      className="flex gap-1 max-lg:order-1 max-lg:-mx-2 max-lg:w-[calc(100%+1rem)] max-lg:flex-wrap"
    >
      {pages.map(({ href, title, here }) => (
        <Link
          key={href}
          href={href}
          aria-current={here.test(location) ? 'page' : undefined}
          className="rounded-lg px-2 py-1.5 text-sm font-medium whitespace-nowrap text-muted hover:bg-sunk hover:text-ink aria-[current]:bg-sunk aria-[current]:text-ink lg:px-2.5"
        >
          {title}
          {href === APPROVALS.href && pending !== undefined && pending > 0 && (
            <>
              {' '}
              <span className="rounded-full bg-accent px-1.5 text-xs text-on-accent tabular-nums">{pending}</span>
            </>
          )}
        </Link>
      ))}
    </nav>
  )
}

/** Moves the focus to the start of a new page, unless the page has put it somewhere or the link is still there. */
function Main({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const seen = useRef(location)
  useEffect(() => {
    if (seen.current === location) return
    seen.current = location
    // The page goes on under another address.
    if ((history.state as { readonly stay?: boolean } | null)?.stay === true) return
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true })
    window.scrollTo(0, placeToGo())
    return main.current === null ? undefined : focusLeftLink(main.current)
  }, [location])
  return (
    <main id="main" ref={main} tabIndex={-1} className="mx-auto w-full wide flex-1 px-4 py-5 compact:py-2">
      {children}
    </main>
  )
}
