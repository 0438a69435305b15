import { Link } from 'wouter'
import { JOBS } from './jobs.ts'

/** All jobs, to choose one. */
export const JobCards = () => (
  <ul aria-label="What to add" className="grid grid-cols-1 gap-3 sm:grid-cols-2 xl:grid-cols-6">
    {JOBS.map(({ id, title, about }) => (
      <li key={id} className="max-xl:sm:last:col-span-2 xl:col-span-2 xl:nth-[n+4]:col-span-3">
        <Link href={`/setup/${id}`} className="panel block h-full p-4 hover:border-edge hover:bg-sunk">
          <span className="font-semibold">{title}</span>
          <span className="mt-1 block text-sm text-muted">{about}</span>
        </Link>
      </li>
    ))}
  </ul>
)
