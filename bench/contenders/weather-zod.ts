import { z } from 'zod'

/** The weather tool's schema, for the peers that are told their parameters with Zod. */
export const weatherZod = () => z.object({ location: z.string(), units: z.enum(['celsius', 'fahrenheit']).optional() })
