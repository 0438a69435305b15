import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { sessionQuery } from '../api/queries.ts'
import { SignOut } from '../session/sign-out.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

/** The pages that there are, and the addresses that belong to each. */
const PAGES = [
  { href: '/', title: 'Tools', here: /^\/(tool\/.*)?$/ },
  { href: '/tools-testing', title: 'Testing', here: /^\/(tools-testing|runs\/.*)$/ },
  { href: '/models', title: 'Models', here: /^\/models$/ },
  { href: '/activity', title: 'Activity', here: /^\/activity(\/.*)?$/ },
  { href: '/settings', title: 'Settings', here: /^\/settings$/ },
]

/** What stands around every page: where one is, where one can go, and whether the server is there. */
export function Layout({ children }: { readonly children: ReactNode }) {
  const { data: session } = useQuery(sessionQuery)
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-lg focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 max-[520px]:static border-b border-line bg-panel">
        <div className="mx-auto flex min-h-14 max-w-6xl flex-wrap items-center gap-1 px-4 max-[520px]:py-1.5">
          <Link href="/" className="mr-2 flex items-center gap-2 font-semibold tracking-tight" aria-label="Toolyard">
            <img src="/assets/toolyard.svg" alt="" width="26" height="26" />
            <span>Toolyard</span>
          </Link>
          <Navigation />
          <div className="ml-auto flex items-center gap-1">
            <a
              href="/docs"
              className="rounded-lg px-2.5 py-1.5 text-sm text-muted hover:bg-sunk hover:text-ink max-[480px]:hidden"
            >
              API
            </a>
            <ThemeSwitch />
            {session?.state === 'signed_in' && <SignOut name={session.name ?? 'key'} tenant={session.tenant ?? ''} />}
          </div>
        </div>
      </header>
      <ConnectionNotice />
      <Main>{children}</Main>
    </div>
  )
}

function Navigation() {
  const [location] = useLocation()
  return (
    <nav aria-label="Pages" className="flex gap-1 max-[520px]:order-last max-[520px]:-mx-2 max-[520px]:w-full">
      {PAGES.map(({ href, title, here }) => (
        <Link
          key={href}
          href={href}
          aria-current={here.test(location) ? 'page' : undefined}
          className="rounded-lg px-2.5 py-1.5 text-sm font-medium text-muted hover:bg-sunk max-[520px]:px-2 hover:text-ink aria-[current]:bg-sunk aria-[current]:text-ink"
        >
          {title}
        </Link>
      ))}
    </nav>
  )
}

/** After a step to another page, the keyboard and the screen reader go on at its beginning. */
function Main({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const seen = useRef(location)
  useEffect(() => {
    if (seen.current === location) return
    seen.current = location
    main.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [location])
  return (
    <main id="main" ref={main} tabIndex={-1} className="mx-auto w-full max-w-6xl flex-1 px-4 py-6">
      {children}
    </main>
  )
}
