/** @module The log: the headers of all events make the root that the checkpoint signed. */
import type { Header } from '../../../schemas/header.ts'
import { parseJson } from '../../../schemas/json.ts'
import { createDates } from './dates.ts'
import { type Bundle, jsonOf, linesOf } from './file-text.ts'
import { isCount, isDigest, isOf, isText } from './forms.ts'
import { createTree, hexDigest, leafHash } from './hashes.ts'
import { completePart, isSelected } from './query.ts'
import { place, shown } from './shown-text.ts'
import { type CheckedLog, checkChain, createStreamTree, type Signed, type StreamHead } from './stream-tree.ts'
import { type Fail, Stop } from './verdict.ts'

/** In the place of a header that is lost for good: which event it was, and the digest of the header, which is its leaf. */
interface LostEvent {
  readonly stream: string
  readonly revision: number
  readonly digest: string
}

/** What a line is: a header, or a lost one. */
export type LogLine = Header & { readonly lost?: LostEvent }

const isLost = isOf({ lost: isOf({ stream: isText, revision: isCount, digest: isDigest }) })

/** Every header once: the roots, the chain of each stream, and the events that the bundle must hold (`wanted`: index by leaf hash). */
export function checkLog(bundle: Bundle, { manifest, checkpoint, kept, stamped }: Signed, fail: Fail): CheckedLog {
  const [tree, heads, dates] = [createTree(), createStreamTree(), createDates(kept)]
  const [streams, wanted] = [new Map<string, StreamHead>(), new Map<string, number>()]
  const signed = [checkpoint, kept, stamped].filter((each) => each !== undefined)
  const namesStreams = signed.some((each) => each.streams !== undefined)
  const roots = new Map([[0, { root: tree.root(), streams: heads.root() }]])
  const complete = completePart(manifest.query)
  for (const line of linesOf(bundle, 'log.jsonl', fail)) {
    const header = jsonOf<LogLine>(line, `line ${tree.size + 1} of log.jsonl`)
    if (JSON.stringify(header) !== line)
      fail('TAMPERED', 'header-form', `line ${tree.size + 1} of log.jsonl is not written as a header is`)
    const { lost } = header
    const leaf = lost === undefined ? leafHash(line) : passLost(header, streams, fail)
    if (lost === undefined) {
      checkChain(header, hexDigest(leaf), streams, fail)
      if (header.tenant !== manifest.tenant)
        fail('TAMPERED', 'other-tenant', `${place(header)} is of another tenant than the log`)
      const isAsked = isSelected(header, manifest.tenant, complete)
      if (isAsked) wanted.set(leaf.toString('latin1'), tree.size)
      dates.take(header, tree.size, isAsked)
    }
    tree.add(leaf)
    if (namesStreams) heads.add((lost ?? header).stream, leaf)
    if (signed.some((each) => each.size === tree.size))
      roots.set(tree.size, { root: tree.root(), streams: heads.root() })
  }
  const { size } = tree
  for (const { size: covered, root, what, streams: named } of signed) {
    const made = roots.get(covered)
    if (made === undefined)
      fail('INCOMPLETE', 'log-behind-checkpoint', `${what} covers ${covered} events, the log holds ${size}`)
    else if (!made.root.equals(root))
      fail('TAMPERED', 'root', `the first ${covered} events are not those that ${what} signed`)
    else if (named !== undefined && !made.streams.equals(named))
      fail('TAMPERED', 'streams', `the tree of streams that ${what} names is not the one of these events`)
  }
  if (size > checkpoint.size)
    fail('TAMPERED', 'root', `the log holds ${size - checkpoint.size} events more than its checkpoint covers`)
  return { size, notes: dates.notes(), latest: dates.latest, ...placesInLog(wanted) }
}

/** The leaf of an event that is lost for good. Its stream goes on behind it by the digest; whether it was asked for cannot be told. */
function passLost(line: LogLine, streams: Map<string, StreamHead>, fail: Fail): Buffer {
  if (!isLost(line))
    throw new Stop('TAMPERED', 'header-form', 'log.jsonl has neither a header nor a lost one in a line')
  const { stream, revision, digest } = line.lost as LostEvent
  const last: StreamHead = streams.get(stream) ?? { revision: -1, time: '' }
  const name = `${shown(stream)} @ ${revision}`
  fail('INCOMPLETE', 'lost-for-good', `${name} is lost for good: what is here says nothing of it`)
  if (revision !== last.revision + 1) fail('TAMPERED', 'chain', `${name} does not continue the event before it`)
  streams.set(stream, { ...last, revision, digest })
  return Buffer.from(digest.slice('sha256:'.length), 'hex')
}

/** Where each event stands that the bundle must hold, and at last which of them it does not hold. */
function placesInLog(wanted: Map<string, number>): Pick<CheckedLog, 'placeOf' | 'end'> {
  let before = -1
  const placeOf: CheckedLog['placeOf'] = ({ header }, leaf, fail) => {
    const name = leaf.toString('latin1')
    const index = wanted.get(name)
    if (index === undefined)
      fail('TAMPERED', 'not-in-log', `${place(header)} is not in the log, outside the query, or there twice`)
    else if (index < before) fail('TAMPERED', 'order', `${place(header)} stands out of order`)
    wanted.delete(name)
    before = index ?? before
    return index
  }
  return { placeOf, end: (bundle, fail) => nameMissing(bundle, new Set(wanted.values()), fail) }
}

function nameMissing(bundle: Bundle, missing: ReadonlySet<number>, fail: Fail): void {
  if (missing.size > 100)
    fail('INCOMPLETE', 'event-missing', `${missing.size} events are not in events.jsonl; the first of them:`)
  let [index, named] = [0, 0]
  for (const line of missing.size === 0 ? [] : linesOf(bundle, 'log.jsonl', fail)) {
    if (missing.has(index) && named < 100)
      fail('INCOMPLETE', 'event-missing', `${place(parseJson<Header>(line))} is not in events.jsonl`)
    if (missing.has(index)) named += 1
    index += 1
  }
}
