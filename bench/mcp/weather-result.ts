import { WEATHER } from '../weather.ts'

/** The weather as the protocol has it: as text for models, and as data. */
export const weatherResult = (weather = WEATHER) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(weather) }],
  structuredContent: weather,
})
