import { Empty } from '../../parts/states.tsx'

export const Charts = () => <Empty title="Nothing here yet">It is being built.</Empty>
