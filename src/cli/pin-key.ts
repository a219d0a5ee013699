/** @module `countersign keys pin KEY`: pins the key of a log; its signatures are checked with that key from then on. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { leads } from '../merkle/followed-keys.ts'
import { readSuccession, successorsOf } from '../merkle/key-succession.ts'
import { type NoteVerifier, parseVerifierKey } from '../merkle/note-key.ts'
import { makeFolder, replaceFile } from '../signing/durable-file.ts'
import { successionLineOf } from '../verify/bundle/verifier-keys.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { pinnedKeys, pinsIn } from './reader-keys.ts'
import { jsonLine, oneLine } from './shown.ts'
import { successionsIn } from './successions.ts'

/**
 * A log has one pinned key: another key is refused unless a pinned key names it as its successor (`--succession FILE`). The old key stays pinned for its
 * earlier signatures, together with the succession, which says until when it is valid.
 */
export function pinKey({ settings, has, text: flag, positionals: [text = ''] }: Arguments): number {
  const verifier = parseVerifierKey(text.trim())
  if (verifier === undefined)
    throw usageFailure('keys pin takes a verifier key, as "countersign checkpoint --key" prints it')
  const path = settings.knownKeys
  if (path === undefined) throw usageFailure('there is no home folder to pin keys in: name a file with --known-keys')
  const known = pinnedKeys(settings).filter((each) => each.verifier.name === verifier.name)
  const isKnown = known.some((each) => each.verifier.text === verifier.text)
  const file = flag('succession')
  if (!isKnown && known.length > 0)
    assertSuccessor(
      verifier,
      known.map((each) => each.verifier),
      { path, file },
    )
  const keys = [...known.map((each) => each.verifier), verifier]
  const notes = file === undefined ? [] : newSuccessions(keys, successionsIn(file), path)
  addLines(path, [...notes.map(successionLineOf), ...(isKnown ? [] : [verifier.text])])
  const { name, keyId } = verifier
  const line = oneLine(`${name}+${keyId} is pinned in ${path}`)
  process.stdout.write(has('json') ? jsonLine({ name, keyId, file: path }) : `${line}\n`)
  return EXIT.ok
}

/** The successions between these keys that are not pinned yet; they say when each key took over. */
function newSuccessions(keys: readonly NoteVerifier[], notes: readonly string[], path: string): readonly string[] {
  const pinned = pinsIn(path).successions
  const chains = keys.map((key) => successorsOf(key, notes))
  return notes.filter((note) => {
    const succession = readSuccession(note)
    return succession !== undefined && !pinned.includes(note) && chains.some((chain) => leads(chain, succession))
  })
}

function addLines(path: string, lines: readonly string[]): void {
  if (lines.length === 0) return
  makeFolder(dirname(path))
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  replaceFile(path, `${before}${before === '' || before.endsWith('\n') ? '' : '\n'}${lines.join('\n')}\n`)
}

function assertSuccessor(
  verifier: NoteVerifier,
  known: readonly NoteVerifier[],
  { path, file }: { readonly path: string; readonly file: string | undefined },
): void {
  if (file === undefined)
    throw new CliFailure(
      `another key of ${verifier.name} is pinned in ${path}: if its operator rotated the key of the log, have the old key vouch for the new one with --succession FILE, the file that their "countersign checkpoint --successions" prints; else ask the operator which is right, and remove the line of the wrong one`,
      EXIT.failed,
    )
  const notes = successionsIn(file)
  if (known.some((each) => successorsOf(each, notes).some(({ text }) => text === verifier.text))) return
  throw new CliFailure(
    `no key of ${verifier.name} that is pinned in ${path} names this one as its successor in ${file}: who gave you this key may not be the log's operator`,
    EXIT.failed,
  )
}
