/**
 * @module What fills the path and the query of every route that reads, so that a test can walk them all with one tenant's ids or another's.
 * A route without its example fails the walk: it has to be added here.
 */
import { BODIES, type DescribedRoute } from './route-requests.ts'

/** Ids of one tenant's record. */
export interface Ids {
  readonly run: string
  readonly call: string
  readonly reservation: string
  readonly fork: string
  readonly approval: string
  readonly wait: string
  readonly signal: string
  /** Of a large value of a call. */
  readonly digest: string
  readonly event: string
}

/** By name of the path's parameter. */
const PARAMETERS: Readonly<Record<string, (ids: Ids) => string>> = {
  run: ({ run }) => run,
  call: ({ call }) => call,
  reservation: ({ reservation }) => reservation,
  fork: ({ fork }) => fork,
  approval: ({ approval }) => approval,
  wait: ({ wait }) => wait,
  signal: ({ signal }) => signal,
  digest: ({ digest }) => digest,
  event: ({ event }) => event,
  query: () => 'events',
  tile: () => '0/000.p/1',
  code: () => 'internal',
  hold: ({ event }) => event,
  subject: ({ run }) => `run:${run}`,
}

/** By path: queries that name whatever can be named. The first must be answered for one's own ids. */
const QUERIES: Readonly<Record<string, (ids: Ids) => readonly string[]>> = {
  '/v1/runs': () => ['', 'name=bravo-name', 'due=true&name=bravo-name'],
  '/v1/runs/{run}/context': () => ['', 'step=0', 'revision=1'],
  '/v1/events': () => ['', 'type=RunStarted', 'actor=bravo-actor'],
  '/v1/log/proof/inclusion': ({ event }) => [`event=${event}`, 'index=0'],
  '/v1/log/proof/consistency': () => ['from=1'],
  '/v1/audit/search': () => ['text=shared', 'text=bravo-secret', 'text=%22shared+word%22'],
  '/v1/audit/sample': () => ['seed=s'],
  '/v1/audit/events': ({ run, call, event: _ }) => [
    '',
    `run=${run}`,
    `call=${call}`,
    'actor=bravo-actor',
    'agent=bravo-agent',
    'tool=bravo-tool',
    'text=bravo-secret',
  ],
  '/v1/audit/runs': ({ run }) => ['', `run=${run}`],
  '/v1/audit/spend': ({ run }) => ['', 'by=agent', 'by=tenant', `run=${run}`, 'agent=bravo-agent'],
  '/v1/answers/{query}': ({ run }) => ['', `run=${run}`, 'actor=bravo-actor', 'text=bravo-secret', 'format=csv'],
  '/v1/export': () => ['', 'from=0', 'format=csv', 'format=cloudevents', 'format=ocsf', 'format=otlp'],
  '/v1/bundle': ({ run }) => [`run=${run}`, ''],
}

/** Targets of a route, for these ids. Throws where a parameter has no example. */
export function targetsOf({ path }: Pick<DescribedRoute, 'path'>, ids: Ids): readonly string[] {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = PARAMETERS[name]
    if (example === undefined) throw new Error(`${path}: no example is known for {${name}}: add it here`)
    return example(ids)
  })
  const queries = QUERIES[path]?.(ids) ?? ['']
  return queries.map((query) => (query === '' ? filled : `${filled}?${query}`))
}

/** The body that a route takes. Throws where none is known. */
export function bodyOfRoute(path: string): string {
  const body = BODIES[path]
  if (body === undefined) throw new Error(`no body is known for ${path}: add it to BODIES`)
  return JSON.stringify(body)
}
