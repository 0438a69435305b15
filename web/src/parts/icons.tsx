import type { ReactNode } from 'react'

const icon = (path: ReactNode) => () => (
  <svg
    viewBox="0 0 24 24"
    width="1.125rem"
    height="1.125rem"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    {path}
  </svg>
)

export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19" />
  </>,
)
export const MoonIcon = icon(<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z" />)
export const ChevronIcon = icon(<path d="m6 9 6 6 6-6" />)
export const CheckIcon = icon(<path d="m5 12.5 4.5 4.5L19 7.5" />)
export const CrossIcon = icon(<path d="M6 6l12 12M18 6 6 18" />)
export const CopyIcon = icon(
  <>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M5 15V6a2 2 0 0 1 2-2h9" />
  </>,
)
export const ArrowUpIcon = icon(<path d="M12 19V5M6 11l6-6 6 6" />)
export const ArrowDownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />)
export const KeyIcon = icon(
  <>
    <circle cx="8" cy="15" r="4" />
    <path d="m11 12 9-9M17 6l3 3" />
  </>,
)
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />)
export const WrenchIcon = icon(
  <path d="M14.5 6.5a4.5 4.5 0 0 1 6-1.8l-3 3 .4 1.9 1.9.4 3-3a4.5 4.5 0 0 1-6 6L9 20.7a2.4 2.4 0 0 1-3.4-3.4Z" />,
)
export const WarningIcon = icon(<path d="M12 4 2.5 20h19ZM12 10v4M12 17v.2" />)
export const PencilIcon = icon(<path d="M4 20h4L19 9l-4-4L4 16ZM13.5 6.5l4 4" />)
export const RedoIcon = icon(<path d="M20 5v5h-5M19.5 10A8 8 0 1 0 20 14" />)
export const BranchIcon = icon(
  <>
    <circle cx="6" cy="5" r="2" />
    <circle cx="6" cy="19" r="2" />
    <circle cx="18" cy="8" r="2" />
    <path d="M6 7v10M18 10c0 4-12 3-12 7" />
  </>,
)
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6" />
    <path d="m20 20-4.5-4.5" />
  </>,
)
export const RowsIcon = icon(<path d="M4 6h16M4 10h16M4 14h16M4 18h16" />)
export const ThumbUpIcon = icon(
  <path d="M7 11v9H4v-9ZM7 11l4-8c1.5 0 2.5 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.1 7A2 2 0 0 1 17.9 20H7" />,
)
export const ThumbDownIcon = icon(
  <path d="M7 13V4H4v9ZM7 13l4 8c1.5 0 2.5-1 2.5-2.5V15H19a2 2 0 0 0 2-2.3l-1.1-7A2 2 0 0 0 17.9 4H7" />,
)
