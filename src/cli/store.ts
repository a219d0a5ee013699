/** @module `countersign store init|status`: creates the schema of a store on PostgreSQL as its owner, and shows its state to any role. */
import { initStore, storeStatus } from '../compose/compose-stores.ts'
import type { ServerPlace } from '../settings/places.ts'
import type { SchemaStatus } from '../store/postgres/schema-check.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { jsonLine, oneLine } from './shown.ts'

export function initSchema(args: Arguments): Promise<number> {
  return failing(init(postgresOf(args), args))
}

export function schemaStatus(args: Arguments): Promise<number> {
  return failing(status(postgresOf(args), args))
}

function postgresOf({ settings: { store } }: Arguments): ServerPlace {
  if (store.kind === 'postgres') return store
  throw usageFailure('only PostgreSQL has a schema to make: name it with --store postgres://...')
}

async function init(place: ServerPlace, input: Arguments): Promise<number> {
  const writer = input.text('writer')
  const { from, to } = await initStore(place, writer)
  const granted = writer === undefined ? '' : `; ${writer} may append and read`
  const done = from === to ? `the schema is there already, version ${to}` : `the schema was made, version ${to}`
  const line = from > 0 && from < to ? `the schema was upgraded from version ${from} to ${to}` : done
  process.stdout.write(input.has('json') ? jsonLine({ from, to }) : `${line}${granted}\n`)
  return EXIT.ok
}

/** Exit code 1 if the schema is missing, of another version, or altered. */
async function status(place: ServerPlace, args: Arguments): Promise<number> {
  const found = await storeStatus(place)
  const isCurrent = found.version === found.newest && found.faults.length === 0 && found.events !== undefined
  if (args.has('json')) process.stdout.write(jsonLine({ ...found }))
  else {
    process.stdout.write(`schema ${found.schema}: ${versionLine(found)}\nconnection: ${found.connection}\n`)
    for (const fault of found.faults) process.stdout.write(`${oneLine(fault)}\n`)
  }
  return isCurrent ? EXIT.ok : EXIT.failed
}

function versionLine({ version, newest, events }: SchemaStatus): string {
  if (events === undefined) return 'it is being made or upgraded right now'
  if (version === 0) return 'not made yet: run "countersign store init"'
  const counted = `version ${version} of ${newest}, ${events} events`
  return version > newest ? `${counted}; this build knows up to version ${newest}: update it` : counted
}

/** Shows the server's message for a missing permission or an unknown name: it is meant for the user of the command. */
async function failing(work: Promise<number>): Promise<number> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw new CliFailure(oneLine(error.message), EXIT.failed, { cause: error })
  }
}
