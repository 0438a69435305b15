/** The one tool that every contender runs. */
export const NAME = 'get_weather'
export const DESCRIPTION = 'The weather at a place.'

export const SCHEMA = {
  type: 'object' as const,
  properties: {
    location: { type: 'string' as const },
    units: { type: 'string' as const, enum: ['celsius', 'fahrenheit'] },
  },
  required: ['location'],
}

export type WeatherParams = Record<string, unknown>

export const PARAMS: WeatherParams = { location: 'Paris', units: 'celsius' }

/** Wrong in both parameters: whoever validates refuses it before the handler runs. */
export const WRONG_PARAMS: WeatherParams = { location: 42, units: 'kelvin' }

export const WEATHER = { temperature: 22, condition: 'sunny', humidity: 65 }

export type WeatherHandler = () => Promise<typeof WEATHER>

export const handler: WeatherHandler = async () => WEATHER
