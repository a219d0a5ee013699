/** @module Our projections among those of a server, and what to do about one that does not run. */
import type { ServerProjection } from '../store/projection-server.ts'
import { CATEGORY_PROJECTION, OWN_PROJECTIONS } from '../verify/server-projections.ts'
import { CliFailure, EXIT } from './failure.ts'
import { oneLine } from './shown.ts'

/** Versions above ours that are looked for. */
const NEWER_VERSIONS = 3

const familyOf = (name: string): string => name.replace(/\d+$/, '')
const versionOf = (name: string): number => Number(name.slice(familyOf(name).length))

/** What is requested: ours, and the server's own one that they need. */
export const NEEDED_NAMES: readonly string[] = [CATEGORY_PROJECTION, ...OWN_PROJECTIONS.map(({ name }) => name)]

/** Ours by their names, and not of this version: left by another process, which may still read them. */
export const OTHER_VERSIONS: readonly string[] = OWN_PROJECTIONS.flatMap(({ name }) =>
  Array.from({ length: versionOf(name) + NEWER_VERSIONS + 1 }, (_, version) => `${familyOf(name)}${version}`).filter(
    (each) => each !== name,
  ),
)

/** One each; what the server does not have is stopped. */
export function ownOf(all: readonly ServerProjection[]): readonly ServerProjection[] {
  return OWN_PROJECTIONS.map(({ name }) => all.find((each) => each.name === name) ?? missing(name))
}

function missing(name: string): ServerProjection {
  const reason = 'run "countersign projections install"'
  return { name, state: 'stopped', status: 'Not installed', reason, progressPercent: undefined, events: 0n }
}

/** Undefined where streams are sorted by category. */
export function categoryFault(all: readonly ServerProjection[]): CliFailure | undefined {
  const found = all.find(({ name }) => name === CATEGORY_PROJECTION)
  if (found?.state === 'running') return undefined
  const status = found === undefined ? 'is missing' : `is not running (${oneLine(`${found.status} ${found.reason}`)})`
  const todo = 'start the server with EVENTSTORE_START_STANDARD_PROJECTIONS=true, or enable it in its UI'
  return new CliFailure(`${CATEGORY_PROJECTION} ${status}, so that no projection sees a run: ${todo}`, EXIT.unproven)
}

/** Throws `CliFailure`: nothing can be compared with what does not run. */
export function requireRunning(all: readonly ServerProjection[]): void {
  const fault = categoryFault(all)
  if (fault !== undefined) throw fault
  const still = ownOf(all).find(({ state }) => state !== 'running' && state !== 'starting')
  if (still === undefined) return
  const text = oneLine(`${still.name} does not run: ${still.status}, ${still.reason}`)
  throw new CliFailure(`${text} ("countersign projections status" shows all)`, EXIT.unproven)
}
