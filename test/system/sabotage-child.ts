/**
 * @module Loaded into a server under test before its own code: an answer about a run named `boom-...` fails while it is printed, and
 * two signals leave an error behind that nobody handles.
 */
const print = JSON.stringify

function exhaust(depth: number): number {
  return exhaust(depth + 1) + 1
}

JSON.stringify = ((value: unknown, ...more: [never, never]) => {
  const id = typeof value === 'object' && value !== null && 'runId' in value && 'actor' in value ? value.runId : ''
  if (id === 'boom-throw') throw new Error('sabotage')
  if (id === 'boom-stack') exhaust(0)
  return print(value, ...more)
}) as typeof JSON.stringify

process.on('SIGUSR2', () => {
  void Promise.reject(new Error('a promise that nobody awaits'))
})
process.on('SIGHUP', () => {
  setImmediate(() => {
    throw new Error('thrown outside of any request')
  })
})
