/** @module `countersign projections install|status|diff`: the folds that an EventStoreDB server computes itself. */
import { NO_NOTES, openProjectionServer, openReader } from '../compose/compose-stores.ts'
import type { StorePlace } from '../settings/places.ts'
import { StoreOpenError, StoreUnavailableError } from '../store/event-store.ts'
import { type ProjectionServer, ProjectionServerError, type ServerProjection } from '../store/projection-server.ts'
import { type Compared, compareProjections } from '../verify/projection-diff.ts'
import { OWN_PROJECTIONS } from '../verify/server-projections.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, type ExitCode, usageFailure } from './failure.ts'
import { installProjections } from './install-projections.ts'
import { tenantOf } from './log-place.ts'
import { NEEDED_NAMES, OTHER_VERSIONS, ownOf, requireRunning } from './own-projections.ts'
import { jsonLine, oneLine } from './shown.ts'
import { type Paint, painter } from './terminal.ts'

const MS_PER_SECOND = 1_000
const WAIT_SECONDS = '10'

export const installed = (args: Arguments): Promise<number> => onServer(args, install)
export const status = (args: Arguments): Promise<number> => onServer(args, printStatus)
export const diff = (args: Arguments): Promise<number> => onServer(args, printDiff)

async function onServer(inputs: Arguments, action: Action): Promise<number> {
  const place = inputs.settings.store
  if (place.kind !== 'eventstoredb')
    throw usageFailure('only a server folds by itself: name it with --store esdb://...')
  try {
    await using server = await openProjectionServer(place.url)
    return await action(server, { args: inputs, place })
  } catch (error) {
    throw asFailure(error)
  }
}

interface ProjectionsRequest {
  readonly args: Arguments
  readonly place: StorePlace
}

type Action = (server: ProjectionServer, request: ProjectionsRequest) => Promise<number>

function waitOf(input: Arguments): number {
  const text = input.text('wait') ?? WAIT_SECONDS
  if (!/^\d{1,5}$/.test(text)) throw usageFailure('--wait takes whole seconds')
  return Number(text) * MS_PER_SECOND
}

/** Maps other errors to other exit codes: exit code 1 is reserved for a projection that does not run and a state that differs. */
function asFailure(error: unknown): unknown {
  if (error instanceof StoreUnavailableError) return new CliFailure(error.message, EXIT.network, { cause: error })
  if (error instanceof StoreOpenError) return new CliFailure(error.message, EXIT.usage, { cause: error })
  const isRefusal = error instanceof ProjectionServerError
  return isRefusal ? new CliFailure(error.message, EXIT.unproven, { cause: error }) : error
}

async function install(server: ProjectionServer, { args }: ProjectionsRequest): Promise<number> {
  const found = await installProjections(server, { reset: args.has('reset'), waitMs: waitOf(args) })
  for (const { done, projection } of found) {
    const line = `${projection.name}  ${done}  ${wordOf(projection)}`
    process.stdout.write(args.has('json') ? jsonLine({ done, ...asJson(projection) }) : `${line}\n`)
  }
  return exitOf(found.map(({ projection }) => projection))
}

async function printStatus(server: ProjectionServer, { args }: ProjectionsRequest): Promise<number> {
  const paint = painter(process.stdout)
  const all = ownOf(await server.find(NEEDED_NAMES))
  for (const projection of all) {
    process.stdout.write(args.has('json') ? jsonLine(asJson(projection)) : `${statusLine(projection, paint)}\n`)
  }
  for (const { name } of await server.find(OTHER_VERSIONS)) {
    const line = `${oneLine(name).padEnd(NAME_COLUMN)}  of another version of countersign: delete it on the server when none of that version is left`
    process.stdout.write(args.has('json') ? jsonLine({ name, state: 'other-version' }) : `${line}\n`)
  }
  return exitOf(all)
}

function exitOf(all: readonly ServerProjection[]): ExitCode {
  return all.every(({ state }) => state === 'running') ? EXIT.ok : EXIT.failed
}

function statusLine(projection: ServerProjection, paint: Paint): string {
  const { name, state, progressPercent, events } = projection
  const progress = progressPercent === undefined ? '-' : `${progressPercent.toFixed(1)} %`
  const word = paint(wordOf(projection), state === 'running' ? 'green' : 'red')
  return `${name.padEnd(NAME_COLUMN)}  ${word}  ${progress}  ${events} events since its start`
}

const NAME_COLUMN = Math.max(...OWN_PROJECTIONS.map(({ name }) => name.length))

function wordOf({ status: word, reason }: ServerProjection): string {
  return oneLine(reason === '' ? word : `${word}: ${reason}`)
}

function asJson({ events, progressPercent, ...rest }: ServerProjection): object {
  return { ...rest, progressPercent: progressPercent ?? null, events: Number(events) }
}

async function printDiff(server: ProjectionServer, { args, place }: ProjectionsRequest): Promise<number> {
  const named = args.text('tenant')
  const [tenant, waitMs] = [named === undefined ? undefined : tenantOf(named), waitOf(args)]
  requireRunning(await server.find(NEEDED_NAMES))
  using source = await openReader(place, NO_NOTES)
  const counts = { same: 0, differs: 0, behind: 0, 'not-folded': 0 }
  for await (const compared of compareProjections({ source, server, projections: OWN_PROJECTIONS, tenant, waitMs })) {
    counts[compared.found.kind] += 1
    if (args.has('json')) process.stdout.write(jsonLine(compared))
    else if (compared.found.kind !== 'same') process.stdout.write(`${diffText(compared)}\n`)
  }
  const { same, differs, behind, 'not-folded': notFolded } = counts
  const line = `${same} states are the same, ${differs} differ, ${behind} lag behind, ${notFolded} are not folded on the server`
  process.stdout.write(args.has('json') ? jsonLine({ counts }) : `${line}\n`)
  if (differs > 0) {
    process.stderr.write(
      'countersign: "countersign projections install --reset" has the server fold from the beginning; "countersign verify" checks the events\n',
    )
    return EXIT.failed
  }
  return behind + notFolded > 0 ? EXIT.unproven : EXIT.ok
}

function diffText({ stream, projection, revision, found }: Compared): string {
  const where = oneLine(`${stream} @ ${revision}  ${projection}`)
  if (found.kind === 'differs') {
    return `${where}  ${oneLine(found.path) || '/'}\n  ours    ${shown(found.ours)}\n  theirs  ${shown(found.theirs)}`
  }
  if (found.kind === 'behind') return `${where}  lags behind ${found.head}: wait longer with --wait SECONDS`
  return found.kind === 'not-folded' ? `${where}  not folded: ${oneLine(found.reason)}` : `${where}  the same`
}

const SHOWN_MAX_CHARS = 300

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value)
  return oneLine(text.length > SHOWN_MAX_CHARS ? `${text.slice(0, SHOWN_MAX_CHARS)}...` : text)
}
