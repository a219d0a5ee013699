/** @module Finds our projections on a server, and explains how to fix one that does not run. */
import type { ServerProjection } from '../store/projection-server.ts'
import { CATEGORY_PROJECTION, OWN_PROJECTIONS } from '../verify/server-projections.ts'
import { CliFailure, EXIT } from './failure.ts'
import { oneLine } from './shown.ts'

/** Number of versions above ours that are searched for. */
const NEWER_VERSIONS = 3

const familyOf = (name: string): string => name.replace(/\d+$/, '')
const versionOf = (name: string): number => Number(name.slice(familyOf(name).length))

/** The projections to look up: ours, and the server's own projection that they depend on. */
export const NEEDED_NAMES: readonly string[] = [CATEGORY_PROJECTION, ...OWN_PROJECTIONS.map(({ name }) => name)]

/** Our projections in other versions: left by another process, which may still read them. */
export const OTHER_VERSIONS: readonly string[] = OWN_PROJECTIONS.flatMap(({ name }) =>
  Array.from({ length: versionOf(name) + NEWER_VERSIONS + 1 }, (_, version) => `${familyOf(name)}${version}`).filter(
    (each) => each !== name,
  ),
)

/** One entry per projection of ours; a projection that the server does not have is reported as stopped. */
export function ownOf(all: readonly ServerProjection[]): readonly ServerProjection[] {
  return OWN_PROJECTIONS.map(({ name }) => all.find((each) => each.name === name) ?? missing(name))
}

function missing(name: string): ServerProjection {
  const reason = 'run "countersign projections install"'
  return { name, state: 'stopped', status: 'Not installed', reason, progressPercent: undefined, events: 0n }
}

/** Undefined if the server sorts streams by category. */
export function categoryFault(all: readonly ServerProjection[]): CliFailure | undefined {
  const found = all.find(({ name }) => name === CATEGORY_PROJECTION)
  if (found?.state === 'running') return undefined
  const status = found === undefined ? 'is missing' : `is not running (${oneLine(`${found.status} ${found.reason}`)})`
  const todo = 'start the server with EVENTSTORE_START_STANDARD_PROJECTIONS=true, or enable it in its UI'
  return new CliFailure(`${CATEGORY_PROJECTION} ${status}, so that no projection sees a run: ${todo}`, EXIT.unproven)
}

/** Throws `CliFailure` if a projection does not run, because then nothing can be compared. */
export function requireRunning(all: readonly ServerProjection[]): void {
  const fault = categoryFault(all)
  if (fault !== undefined) throw fault
  const still = ownOf(all).find(({ state }) => state !== 'running' && state !== 'starting')
  if (still === undefined) return
  const text = oneLine(`${still.name} does not run: ${still.status}, ${still.reason}`)
  throw new CliFailure(`${text} ("countersign projections status" shows all)`, EXIT.unproven)
}
