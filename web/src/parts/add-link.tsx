import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { PlusIcon } from './icons.tsx'

/** Leads to a form that adds something. */
export const AddLink = ({ href, children }: { readonly href: string; readonly children: ReactNode }) => (
  <Link
    href={href}
    className="inline-flex min-h-9 shrink-0 items-center gap-1.5 rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium whitespace-nowrap hover:bg-sunk compact:min-h-7 compact:py-0"
  >
    <PlusIcon />
    {children}
  </Link>
)
