/** What the API answers: 1 KB as JSON. */
export const ANSWER = {
  city: 'Paris',
  hours: Array.from({ length: 16 }, (_, hour) => ({
    hour,
    temperature: 20 + (hour % 7) / 2,
    condition: 'sunny',
    wind: hour,
  })),
}
