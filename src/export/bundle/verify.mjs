#!/usr/bin/env node
/**
 * Checks an evidence bundle of a Countersign ledger:
 *   node verify.mjs BUNDLE.tar|FOLDER --key KEY [--checkpoint FILE] [--witness KEY]... [--quorum N] [--run-key FILE] [--json]
 *
 * Needs Node 18.3 or newer and nothing else. It only reads: no connection, no file written. What is shown, in this order:
 *   1. the archive holds plain files under known names, once each, with nothing beside them;
 *   2. the manifest was signed with the log's key (DSSE) and names the digest of every file;
 *   3. the checkpoint was signed with the same key (C2SP signed note): size and root of the log; and by the witnesses that you name;
 *   4. log.jsonl, the headers of ALL events of the log, makes that very root (RFC 6962), each header continuing its stream; or, in a bundle
 *      of one run, stream.json shows in the tree of streams that the checkpoint names how many events the run has, and their digest;
 *   5. events.jsonl holds exactly those events of the log that the query asks for, none left out, each with the body that was sealed;
 *      which those are is worked out here from the query, whatever the manifest says;
 *   6. proofs, report.html, README.txt and the rest are those that these events make;
 *   7. values.jsonl, where it was requested, holds every large value that these events name, with the digest that they name it by;
 *   8. where a run's key was disclosed to you, the macs;
 *   9. in a bundle of an answer, that each row of answer.jsonl is the one that these events make, in that order, and that they make no other;
 *  10. where a checkpoint was time-stamped (RFC 3161), that the token is for that checkpoint's text, and that this log continues it. The
 *      signature of the authority is not checked here: openssl does, with the command that is printed.
 * It cannot show that what was recorded is true, nor that all that happened was recorded. Who exported, and when, is the signer's word.
 *
 * KEY is the verifier key of the log, or a file that has it on a line of its own. Without it nobody can say who signed: the key inside
 * a bundle shows only that the bundle agrees with itself. Get the key, and this file, from another hand than the bundle.
 *
 * Exit code: 0 VERIFIED, 1 TAMPERED, 2 wrong use, 3 INCOMPLETE, UNVERIFIABLE, or CONSISTENT, NOT AUTHENTICATED (no key was given).
 */
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const MANIFESTS = ['manifest.dsse.json', 'manifest.json']
const SIGNED = 'README.txt checkpoint events.jsonl jwks.json report.html verifier-key.txt verify.mjs'.split(' ')
/** What shows that nothing was left out: the headers of the whole log, or, of one run, the tree of streams that the checkpoint names. */
const PROOFS = { log: 'log.jsonl', stream: 'stream.json' }
/** Of a log whose key was rotated: the signed notes that lead from its first key to the one that signed the bundle. */
const SUCCESSIONS = 'key-successions.json'
/** The large values that the events name, on request. */
const VALUES = 'values.jsonl'
/** Of an answer to an auditors' question: the question, then its rows. */
const ANSWER = 'answer.jsonl'
/** Of a log whose checkpoints are time-stamped: the text that was, the authority's answer, and the proof that the log continues it. */
const STAMP = { text: 'timestamp.txt', reply: 'timestamp.tsr', proof: 'timestamp.json' }
const NEEDED = [...SIGNED, ...MANIFESTS]
const FILES = [...NEEDED, SUCCESSIONS, VALUES, ANSWER, ...Object.values(PROOFS), ...Object.values(STAMP)]
const PROOF_NAME = /^proofs\/[0-9a-f-]{36}\.tlog-proof$/
/** Bundles of so many events have a proof file for each; of larger ones the first and the last event have. */
export const PROOFS_MAX = 256
const PREDICATE_TYPES = new Map([
  ['urn:countersign:evidence-bundle:v1', 'log'],
  ['urn:countersign:evidence-bundle:v2', 'stream'],
  ['urn:countersign:evidence-bundle:v3', 'log'],
])
/** Of a bundle with the answer to a question. */
const OF_ANSWER = 'urn:countersign:evidence-bundle:v3'
const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
const TRAILER_TYPE = 'application/vnd.countersign.export-trailer+json'
/** SHA-256 of earlier versions of this file: bundles that they stand in are as good. The report that the first of them made says less. */
const FIRST_VERIFIER = 'f05494d92a666b4dc482364ce7d6c14a2f45bdd5c909c23f71827ba935205ce9'
const EARLIER_VERIFIERS = [FIRST_VERIFIER, 'bfcf851cf177b881c291c794323d506d13fafe645098a79879a4996a67d4ae36']
const MIB = 1024 * 1024
const CHUNK_BYTES = MIB / 4
const CONSISTENT = 'CONSISTENT, NOT AUTHENTICATED'
const SEVERITY = ['VERIFIED', CONSISTENT, 'UNVERIFIABLE', 'INCOMPLETE', 'TAMPERED']

/**
 * Checks one bundle, a path or the bytes of a tar: `verdict` is the worst that was found, `faults` say what and where. Nothing that a
 * bundle holds makes it throw.
 */
export function verifyBundle(source, options = {}) {
  const found = {
    verdict: 'VERIFIED',
    faults: [],
    notes: [],
    events: 0,
    leaves: 0,
    matching: 0,
    named: 0,
    values: 0,
    macs: 0,
    witnesses: [],
  }
  const fail = (verdict, code, message) => {
    if (SEVERITY.indexOf(verdict) > SEVERITY.indexOf(found.verdict)) found.verdict = verdict
    if (found.faults.length < 1000) found.faults.push({ verdict, code, message })
  }
  const bundle = openBundle(source, fail)
  try {
    checkBundle(bundle, options, found, fail)
  } catch (error) {
    if (error instanceof Stop) fail(error.verdict, error.code, error.message)
    // What the system says of a file is for whoever asked; everything else that goes wrong, the bundle made go wrong.
    else if (error.syscall !== undefined) throw error
    else fail('TAMPERED', 'malformed', `a file has not the form that it must have: ${error.message}`)
  } finally {
    for (const fd of bundle.open) fs.closeSync(fd)
  }
  return found
}

/** Nothing behind this can be checked. */
class Stop extends Error {
  constructor(verdict, code, message) {
    super(message)
    Object.assign(this, { verdict, code })
  }
}

function checkBundle(bundle, options, found, fail) {
  for (const name of NEEDED) if (!bundle.files.has(name)) fail('INCOMPLETE', 'file-missing', `${name} is missing`)
  const key = keyOf(bundle, options, found, fail)
  const { manifest, proof, hasValues, hasStamp } = checkManifest(bundle, key, fail)
  found.proof = proof
  found.about = aboutOf(manifest, key)
  const note = textOf(bundle, 'checkpoint')
  const checkpoint = openCheckpoint(note, key, 'the checkpoint')
  const { size, root } = manifest.checkpoint
  if (manifest.tenant !== checkpoint.tenant || size !== checkpoint.size || root !== hexDigest(checkpoint.root))
    fail('TAMPERED', 'other-checkpoint', 'the manifest is about another checkpoint than the one that is here')
  checkWitnesses(checkpoint, { ...options, logKey: key }, found, fail)
  if (hasStamp) checkStamp(bundle, { checkpoint, key, options }, found)
  const earlier =
    options.checkpoint === undefined
      ? undefined
      : openCheckpoint(options.checkpoint, signerOf(options.checkpoint, key), 'the checkpoint that was kept')
  if (earlier !== undefined) found.about.kept = earlier.size
  const check = proof === 'stream' ? checkStream : checkLog
  const log = check(bundle, { manifest, checkpoint, earlier }, fail)
  found.leaves = log.size
  const maker = digestOfFile(fileOf(bundle, 'verify.mjs'))
  const facts = new ReportFacts(maker === FIRST_VERIFIER)
  const proven = checkEvents(bundle, { manifest, key, checkpoint, log, facts, options }, found, fail)
  found.about.period = facts.first === undefined ? undefined : [facts.first, facts.last]
  checkCounts(manifest.counts, found, fail)
  if (hasValues) checkValues(bundle, found, fail)
  else if (found.named > 0) found.notes.push(`${found.named} events name ${NOT_ASKED_FOR}`)
  checkProofs(bundle, { proven, note, checkpoint, manifest, events: found.events }, fail)
  const listed = manifest.answer === undefined ? undefined : checkAnswer(bundle, manifest, found, fail)
  checkTexts(bundle, { manifest, proof, hasValues, hasStamp, key, facts, maker, listed }, fail)
}

/**
 * The key that everything is checked with: the reader's, or the one in the bundle that follows it by the word of each key between; or else
 * the one in the bundle alone, which authenticates nothing. `former` are those that it followed.
 */
function keyOf(bundle, { key: given }, found, fail) {
  const own = textOf(bundle, 'verifier-key.txt')
  const named = typeof given === 'function' ? given(own) : given
  const key = parseKey(named ?? own)
  if (key === undefined) throw new Stop('UNVERIFIABLE', 'key', 'the key to verify with is no verifier key')
  found.keyGiven = named !== undefined
  if (!found.keyGiven) fail(CONSISTENT, 'not-authenticated', NOT_AUTHENTICATED)
  const claimed = parseKey(own)
  const former = formerKeys(bundle, claimed, fail)
  if (own === `${key.text}\n`) return { ...key, former }
  if (own === `${claimed?.text}\n` && former.some(({ text }) => text === key.text)) {
    found.notes.push(
      `the key that you have, ${key.name}+${key.id}, was rotated: by signed notes it leads to ${claimed.name}+${claimed.id}, which signed this bundle; keep that one from now on`,
    )
    return { ...claimed, former }
  }
  fail(
    'TAMPERED',
    'other-key',
    `verifier-key.txt is not the key of ${key.name} that you have: another log's, or altered; or, if the key of the log was rotated, made before: then give the key of that time`,
  )
  return { ...key, former: [] }
}

/** The keys of the log before the one in the bundle, oldest first: each names the next, and the last one the bundle's own. */
function formerKeys(bundle, own, fail) {
  if (!bundle.files.has(SUCCESSIONS) || own === undefined) return []
  const text = textOf(bundle, SUCCESSIONS)
  const notes = jsonOf(text, SUCCESSIONS)
  const said = Array.isArray(notes) && notes.every((note) => typeof note === 'string') ? notes.map(successionOf) : []
  const follows = (each, at) => each?.to.raw.equals(said[at + 1]?.from.raw ?? own.raw) === true
  const isOfLog = (each) => own.name.slice(0, own.name.lastIndexOf('/')) === each?.from.name
  if (said.length > 0 && said.every(follows) && said.every(isOfLog) && text === `${JSON.stringify(notes, null, 2)}\n`)
    return said.map(({ from: { raw } }) => keyNamed(own.name, raw))
  fail(
    'TAMPERED',
    'succession',
    `${SUCCESSIONS} does not lead to the key in the bundle by the word of each key before it`,
  )
  return []
}

/** A succession is a signed note of two keys of the ledger, by both of them; undefined for anything else. */
function successionOf(note) {
  const [kind, oldText = '', newText = '', time = '', empty, ...lines] = note.split('\n')
  const [from, to] = [parseKey(oldText), parseKey(newText)]
  const isForm = kind === 'countersign/log-key-succession/v1' && isTime(time) && empty === '' && lines.pop() === ''
  if (!isForm || from === undefined || to === undefined || from.name !== to.name || lines.length !== 2) return undefined
  const text = `${kind}\n${oldText}\n${newText}\n${time}\n`
  const isBy = ({ name, id, key }, line) => {
    const bytes = line.startsWith(`\u2014 ${name} `) ? base64(line.slice(name.length + 3)) : undefined
    return (
      bytes?.subarray(0, 4).toString('hex') === id && crypto.verify(null, Buffer.from(text), key, bytes.subarray(4))
    )
  }
  return isBy(from, lines[0]) && isBy(to, lines[1]) ? { from, to } : undefined
}

const NOT_AUTHENTICATED =
  'checked with the key inside the bundle, which shows that it agrees with itself, not who made it: give the key of the log with --key'

function aboutOf(manifest, { name, id }) {
  const { query, tenant, ledgerId, checkpoint, exportedBy, time, exportId } = manifest
  return { log: name, key: `${name}+${id}`, ledgerId, tenant, query, ...checkpoint, exportedBy, time, exportId }
}

function checkCounts(counts, found, fail) {
  for (const [name, what] of [
    ['events', 'events'],
    ['matching', 'events that answer the query'],
    ['leaves', 'events of the log'],
  ]) {
    const verdict = found[name] < counts[name] ? 'INCOMPLETE' : 'TAMPERED'
    if (found[name] !== counts[name])
      fail(verdict, 'count', `${found[name]} ${what} are here, the manifest counts ${counts[name]}`)
  }
}

// 1. The archive: files by name, `{ size, read(position, length) }`. Nothing is unpacked.

const isKnownName = (name) => FILES.includes(name) || PROOF_NAME.test(name)
/** Controls, marks that turn or hide letters, separators of lines, private and unassigned code points. */
const HIDDEN = /[\p{C}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu
/** Text that comes from outside, without anything that a terminal would obey. */
const plain = (text) => text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0).toString(16)}}`)
const shown = (text) => plain(JSON.stringify(String(text).slice(0, 100)))

function openBundle(source, fail) {
  if (typeof source !== 'string') return openTar(bytesAt(source), [], fail)
  if (fs.statSync(source).isDirectory()) return openFolder(source, fail)
  const fd = fs.openSync(source, 'r')
  return openTar(fileAt(fd, 0, fs.fstatSync(fd).size), [fd], fail)
}

function fileAt(fd, start, size) {
  const read = (position, length) => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - position)))
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, start + position))
  }
  return { size, read }
}

function bytesAt(bytes) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return { size: buffer.length, read: (position, length) => buffer.subarray(position, position + length) }
}

/** A part of a file, as a file. */
function partAt(file, start, size) {
  return {
    size,
    read: (position, length) => file.read(start + position, Math.min(length, Math.max(0, size - position))),
  }
}

function openFolder(path, fail) {
  const bundle = { files: new Map(), open: [] }
  const isFolder = (name) => name === 'proofs' && fs.lstatSync(join(path, name)).isDirectory()
  const within = (name) => (isFolder(name) ? fs.readdirSync(join(path, name)).map((each) => `${name}/${each}`) : [name])
  for (const name of fs.readdirSync(path).flatMap(within)) {
    const { size, ...stat } = fs.lstatSync(join(path, name))
    if (!isKnownName(name) || (stat.mode & fs.constants.S_IFMT) !== fs.constants.S_IFREG) {
      fail('TAMPERED', 'foreign-file', `${shown(name)} does not belong in a bundle`)
      continue
    }
    const fd = fs.openSync(join(path, name), 'r')
    bundle.open.push(fd)
    bundle.files.set(name, fileAt(fd, 0, size))
  }
  return bundle
}

const BLOCK = 512

/**
 * POSIX ustar with plain files only, each header the very one that a bundle has, names in order. So there is no room for links, long names,
 * extensions, a second file of a name, or anything that another program might read otherwise.
 */
function openTar(tar, open, fail) {
  const bundle = { files: new Map(), open }
  let last = ''
  for (let at = 0; ; ) {
    const header = tar.read(at, BLOCK)
    if (header.length === BLOCK && header.every((byte) => byte === 0)) {
      checkEnd(tar.read(at, 2 * BLOCK + 1), fail)
      return bundle
    }
    const entry = entryOf(header, last)
    if (entry.wrong !== undefined) {
      const verdict = header.length < BLOCK ? 'INCOMPLETE' : 'TAMPERED'
      fail(
        verdict,
        header.length < BLOCK ? 'archive-cut' : 'archive-entry',
        `at byte ${at}: ${entry.wrong}: what follows is not read`,
      )
      return bundle
    }
    const start = at + BLOCK
    at = start + Math.ceil(entry.size / BLOCK) * BLOCK
    // Where it was cut within a file, no header follows.
    const rest = tar.read(start + entry.size, at - start - entry.size)
    if (rest.some((byte) => byte !== 0))
      fail('TAMPERED', 'archive-entry', `something stands behind the end of ${entry.name}`)
    bundle.files.set(entry.name, partAt(tar, start, Math.max(0, Math.min(entry.size, tar.size - start))))
    last = entry.name
  }
}

/** The fields of a header, in their order: where each begins, and what it is called. */
const FIELDS = [
  [0, 'name'],
  [100, 'mode'],
  [108, 'owner'],
  [116, 'group'],
  [124, 'size'],
  [136, 'time'],
  [148, 'checksum'],
  [156, 'type'],
  [157, 'link name'],
  [257, 'format'],
  [265, 'owner name'],
  [297, 'group name'],
  [329, 'device'],
  [345, 'name prefix'],
  [500, 'padding'],
]

/** Name and size of a file, or what is wrong with its header. */
function entryOf(header, last) {
  if (header.length < BLOCK) return { wrong: 'the archive ends too early: it was cut' }
  const name = header.subarray(0, 100).toString('latin1').split('\0', 1)[0]
  if (!isKnownName(name)) return { wrong: `${shown(name)} is no file of a bundle` }
  if (name <= last) return { wrong: `${name} is there twice, or out of order` }
  const octal = header.subarray(124, 135).toString('latin1')
  if (!/^[0-7]{11}$/.test(octal)) return { wrong: `the header of ${name} has no size` }
  const size = Number.parseInt(octal, 8)
  const own = headerOf(name, size)
  if (own.equals(header)) return { name, size }
  // Another field makes another checksum, too: that one is named where nothing else differs.
  const differing = [...own.keys()].filter((index) => own[index] !== header[index])
  const differs = differing.find((index) => index < 148 || index >= 156) ?? 148
  const [, field] = FIELDS.findLast(([begin]) => begin <= differs)
  return {
    wrong: `the ${field} in the header of ${name} is not what a bundle has (one that was packed anew is checked as a folder)`,
  }
}

function headerOf(name, size) {
  const header = Buffer.alloc(BLOCK)
  const write = (at, text) => header.write(text, at, 'latin1')
  write(0, name)
  write(100, '000644 ')
  write(108, '000000 ')
  write(116, '000000 ')
  write(124, `${size.toString(8).padStart(11, '0')} `)
  write(136, '00000000000 ')
  write(148, ' '.repeat(8))
  write(156, '0')
  write(257, 'ustar\x0000')
  write(329, '000000 \x00000000 ')
  const sum = header.reduce((all, byte) => all + byte, 0)
  write(148, `${sum.toString(8).padStart(6, '0')} \0`)
  return header
}

function checkEnd(bytes, fail) {
  if (bytes.length < 2 * BLOCK) fail('INCOMPLETE', 'archive-cut', 'the archive ends too early: it was cut')
  else if (bytes.length > 2 * BLOCK || bytes.some((byte) => byte !== 0))
    fail('TAMPERED', 'archive-end', 'something stands behind the end of the archive')
}

/** The lines of a file, without their line feeds. Bytes after the last line feed are a line that was cut. */
function* linesOf(bundle, name, fail) {
  const file = fileOf(bundle, name)
  let rest = Buffer.alloc(0)
  for (let at = 0; at < file.size; at += CHUNK_BYTES) {
    const bytes = Buffer.concat([rest, file.read(at, CHUNK_BYTES)])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      yield decode(bytes.subarray(start, end), name)
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > 16 * MIB) throw new Stop('TAMPERED', 'line-too-long', `${name} has a line of more than 16 MiB`)
  }
  if (rest.length > 0) fail('INCOMPLETE', 'file-cut', `${name} ends within a line: it was cut`)
}

function fileOf(bundle, name) {
  const file = bundle.files.get(name)
  if (file === undefined) throw new Stop('INCOMPLETE', 'file-missing', `without ${name} the rest cannot be checked`)
  return file
}

function textOf(bundle, name) {
  const file = fileOf(bundle, name)
  if (file.size > 64 * MIB) throw new Stop('TAMPERED', 'file-too-large', `${name} is larger than such a file can be`)
  return decode(file.read(0, file.size), name)
}

function decode(bytes, name) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Stop('TAMPERED', 'not-utf8', `${name} is not UTF-8`)
  }
}

/**
 * As `JSON.parse` is defined. Node 24 and 26 may give a key that is written with an escape the name of another that was read before
 * (https://github.com/nodejs/node/issues/63785): a text with such a key is put together here, of the parts that have none.
 */
export function parseJson(text) {
  const value = JSON.parse(text)
  if (!/\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*"[\t\n\r ]*:/.test(text)) return value
  const root = []
  const open = [{ into: root }]
  const take = (taken) => {
    const { into, key } = open.at(-1)
    open.at(-1).key = undefined
    if (Array.isArray(into)) into.push(taken)
    else Object.defineProperty(into, key, { value: taken, configurable: true, enumerable: true, writable: true })
  }
  for (const [part] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s"[\]{},:]+/g)) {
    const isMember = open.at(-1).key !== undefined || Array.isArray(open.at(-1).into)
    if (part === '{' || part === '[') {
      const into = part === '{' ? {} : []
      take(into)
      open.push({ into })
    } else if (part === '}' || part === ']') open.pop()
    else if (isMember) take(JSON.parse(part))
    else open.at(-1).key = JSON.parse(part)
  }
  return root[0]
}

function jsonOf(text, name) {
  try {
    return parseJson(text)
  } catch {
    throw new Stop('TAMPERED', 'not-json', `${name} is not JSON`)
  }
}

// 2. and 3. Signatures, all Ed25519.

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash('sha256')).digest()
const hexDigest = (hash) => `sha256:${hash.toString('hex')}`
const HASH_BYTES = 32
/** Strict: one text for the same bytes, and no other. Undefined for any other text. */
const base64 = (text) => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** A verifier key of signed notes: `<name>+<8 hex>+base64(type || 32 bytes)`. Undefined for anything else. */
function parseKey(line, type = 1) {
  const text = line.trim()
  const [, name, id, encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? []
  const typed = base64(encoded)
  if (typed?.length !== 33 || typed[0] !== type || plain(name) !== name) return undefined
  if (sha256(`${name}\n`, typed).toString('hex').slice(0, 8) !== id) return undefined
  const raw = typed.subarray(1)
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
  return { name, id, text, raw, key: crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

/** The key of these 32 bytes under another name. */
function keyNamed(name, raw) {
  const typed = Buffer.concat([Buffer.of(1), raw])
  const id = sha256(`${name}\n`, typed).toString('hex').slice(0, 8)
  return parseKey(`${name}+${id}+${typed.toString('base64')}`)
}

/** DSSE: what is signed is `DSSEv1 <length> <type> <length> <body>`, with which no signed note can begin. */
function isSigned(type, body, { key }, sig) {
  const bytes = base64(sig)
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${body.length} `), body])
  return bytes !== undefined && crypto.verify(null, signed, key, bytes)
}

function checkManifest(bundle, key, fail) {
  const body = Buffer.from(textOf(bundle, 'manifest.json'))
  const text = textOf(bundle, 'manifest.dsse.json')
  const { sig } = jsonOf(text, 'manifest.dsse.json').signatures[0]
  const signatures = [{ keyid: `${key.name}+${key.id}`, sig }]
  const envelope = { payload: body.toString('base64'), payloadType: PAYLOAD_TYPE, signatures }
  if (!isSigned(PAYLOAD_TYPE, body, key, sig) || text !== `${JSON.stringify(envelope)}\n`)
    throw new Stop('TAMPERED', 'manifest-signature', `the manifest is not what the key of ${key.name} has signed`)

  const statement = jsonOf(body.toString(), 'the manifest')
  const { predicateType } = statement
  const proof = PREDICATE_TYPES.get(predicateType)
  if (proof === undefined)
    throw new Stop('UNVERIFIABLE', 'manifest-type', 'this verifier does not know that kind of manifest')
  const { subject, predicate } = statement
  const expected = { _type: STATEMENT_TYPE, subject: subject.map(subjectOf), predicateType, predicate }
  if (JSON.stringify(expected, null, 2) !== body.toString())
    fail('TAMPERED', 'manifest-form', 'the manifest is not written as a bundle writes it')
  const isAnswer = predicateType === OF_ANSWER
  checkSubjects(bundle, { subject, proof, isAnswer }, fail)
  checkPredicate(predicate, { key, proof, isAnswer }, fail)
  const isNamed = (file) => subject.some(({ name }) => name === file)
  const hasStamp = Object.values(STAMP).some(isNamed)
  return { manifest: predicate, proof, hasValues: isNamed(VALUES), hasStamp }
}

const subjectOf = ({ name, digest }) => ({ name, digest: { sha256: digest.sha256 } })

/** Each file is named, once, by its digest; and nothing is named that is not there. */
function checkSubjects(bundle, { subject, proof, isAnswer }, fail) {
  const own = [PROOFS[proof], ...(isAnswer ? [ANSWER] : [])]
  const needed = [...NEEDED, ...own]
  for (const file of own) if (!bundle.files.has(file)) fail('INCOMPLETE', 'file-missing', `${file} is missing`)
  for (const file of [...Object.values(PROOFS), ANSWER])
    if (!needed.includes(file) && bundle.files.has(file))
      fail('TAMPERED', 'foreign-file', `${file} does not belong in a bundle of this kind`)
  const digests = new Map(subject.map(({ name, digest }) => [name, digest.sha256]))
  if (digests.size !== subject.length) fail('TAMPERED', 'manifest-form', 'the manifest names a file twice')
  for (const [file, digest] of digests) {
    const there = bundle.files.get(file)
    if (there === undefined && !needed.includes(file)) fail('INCOMPLETE', 'file-missing', `${shown(file)} is missing`)
    if (there !== undefined && digestOfFile(there) !== digest)
      fail('TAMPERED', 'file-digest', `${shown(file)} is not the file that the manifest names`)
  }
  for (const file of bundle.files.keys())
    if (!digests.has(file) && !MANIFESTS.includes(file))
      fail('TAMPERED', 'foreign-file', `the manifest does not name ${file}`)
}

function digestOfFile(file) {
  const hash = crypto.createHash('sha256')
  for (let at = 0; at < file.size; at += CHUNK_BYTES) hash.update(file.read(at, CHUNK_BYTES))
  return hash.digest('hex')
}

const isText = (value) => typeof value === 'string' && value.length <= 1024
const isCount = (value) => Number.isSafeInteger(value) && value >= 0
const isDigest = (value) => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
const isTime = (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
const isList = (value) => Array.isArray(value) && value.length > 0 && value.every(isText)
const isOf = (form) => (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.keys(value).every((name) => Object.hasOwn(form, name)) &&
  Object.entries(form).every(([name, is]) => (name in value ? is(value[name]) : is.optional === true))
const maybe = (is) => Object.assign((value) => is(value), { optional: true })

/** What a query can ask and a bundle can prove; words, rules and verdicts are for the index of the ledger alone. */
const QUERY = { run: maybe(isText), types: maybe(isList), since: maybe(isTime), until: maybe(isTime) }
for (const name of ['actor', 'principal', 'agent', 'tool', 'call', 'approval', 'provider', 'model', 'kid'])
  QUERY[name] = maybe(isText)
/** Names that are compared by a part of them, each by its own filter, and any of them by `contains`. */
const PART_FIELDS = ['run', 'actor', 'principal', 'agent', 'tool', 'provider', 'model']
for (const name of ['contains', ...PART_FIELDS.map((field) => `${field}Contains`)]) QUERY[name] = maybe(isText)
/** Of an answer: what its rows follow from, `also` whatever else. */
const BEHIND = { ...QUERY, also: maybe(isList) }

const PREDICATE = {
  exportId: isText,
  ledgerId: isText,
  origin: isText,
  tenant: isText,
  query: isOf(QUERY),
  complete: isOf(QUERY),
  exportedBy: isOf({ actor: isText, principal: maybe(isText), via: maybe(isList) }),
  time: isTime,
  timeZone: (value) => value === 'UTC',
  checkpoint: isOf({ size: isCount, root: isDigest }),
  counts: isOf({ events: isCount, matching: isCount, leaves: isCount }),
  proofs: isText,
}
const ANSWER_PREDICATE = {
  ...PREDICATE,
  query: isOf(BEHIND),
  complete: isOf(BEHIND),
  answer: isOf({ question: (question) => isQuestion(question), rows: isCount }),
}

/** The same text for the same members, in whatever order. */
const sorted = (object) => JSON.stringify(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))

/** The manifest may say only what is known here, and of what must be in the bundle only what follows from the query. */
function checkPredicate(predicate, { key: { name }, proof, isAnswer }, fail) {
  const form = isAnswer ? ANSWER_PREDICATE : PREDICATE
  for (const [member, is] of Object.entries(form))
    if (!isOf({ [member]: is })({ [member]: predicate[member] }))
      throw new Stop('TAMPERED', 'manifest-form', `the manifest's ${member} is nothing that a bundle can prove`)
  if (!isOf(form)(predicate))
    throw new Stop('TAMPERED', 'manifest-form', 'the manifest says more than a bundle can prove')
  const { origin, query, complete, answer, checkpoint } = predicate
  if (origin !== name)
    fail('TAMPERED', 'other-log', `the manifest is about the log ${shown(origin)}, the key is of ${name}`)
  if (proof === 'stream' && query.run === undefined)
    throw new Stop('TAMPERED', 'manifest-form', 'the manifest is about one run and names none')
  if (isAnswer && sorted(query) !== sorted(eventsBehind(answer.question)))
    fail('TAMPERED', 'other-scope', 'the manifest asks for other events than the answer to its question follows from')
  if (isAnswer && (answer.question.asOf ?? 0) > checkpoint.size)
    fail('TAMPERED', 'answer-question', 'the answer is as of more events than the checkpoint covers')
  if (sorted(complete) !== sorted(proof === 'stream' ? { run: query.run } : completePart(query)))
    fail('TAMPERED', 'other-scope', 'the manifest claims to be complete for less, or other, than its query asks for')
}

/** A signed note: a text, an empty line, and lines of em dash, name, base64(4 bytes of key id || signature). */
function openCheckpoint(note, { name, id, key }, what) {
  const border = note.lastIndexOf('\n\n')
  const text = note.slice(0, border + 1)
  const lines = note.slice(border + 2).split('\n')
  const signatures = lines.slice(0, -1).map((line) => {
    const [, signer, encoded = ''] = /^\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
    const bytes = base64(encoded)
    return { signer, keyId: bytes?.subarray(0, 4).toString('hex'), signature: bytes?.subarray(4) }
  })
  const isNote = border > 0 && lines.at(-1) === '' && signatures.every(({ signature }) => signature?.length > 0)
  const ours = signatures.filter(({ signer, keyId }) => signer === name && keyId === id)
  const isOurs = ours.length === 1 && crypto.verify(null, Buffer.from(text), key, ours[0].signature)
  const [origin, size, root = '', ...more] = text.slice(0, -1).split('\n')
  const hash = base64(root)
  const isCheckpoint =
    origin === name && /^(0|[1-9]\d{0,15})$/.test(size) && hash?.length === HASH_BYTES && !more.includes('')
  if (!isNote || !isOurs || !isCheckpoint)
    throw new Stop('TAMPERED', 'checkpoint', `${what} is not signed with the key of ${name}: altered, or another log's`)
  const tenant = origin.slice(origin.lastIndexOf('/') + 1)
  return { what, text, signatures, tenant, size: Number(size), root: hash, streams: streamsOf(more) }
}

/** What was kept may be of the time of an earlier key. */
function signerOf(note, key) {
  const signers = [key, ...key.former]
  const ids = note.split('\n').map((line) => line.match(/^\u2014 \S+ (\S+)$/)?.[1])
  const idOf = (encoded) =>
    Buffer.from(encoded ?? '', 'base64')
      .subarray(0, 4)
      .toString('hex')
  return signers.find(({ id }) => ids.some((encoded) => idOf(encoded) === id)) ?? key
}

/** The root of the tree of streams: one extension line of a checkpoint names it. */
function streamsOf(lines) {
  const named = lines.filter((line) => line.startsWith('streams/v1 '))
  const root = named.length === 1 ? base64(named[0].slice('streams/v1 '.length)) : undefined
  return root?.length === HASH_BYTES ? root : undefined
}

/**
 * Cosignatures (C2SP tlog-cosignature): a witness signs the checkpoint's text with its time before it. It counts once, whatever number of
 * names or keys it goes by; the log is no witness of itself.
 */
function checkWitnesses({ text, signatures }, { witnesses = [], quorum = witnesses.length, logKey }, found, fail) {
  for (const line of new Set(witnesses)) {
    const witness = parseKey(line, 4)
    if (witness === undefined)
      throw new Stop('UNVERIFIABLE', 'witness-key', 'the witness key is no verifier key of a witness')
    if (witness.raw.equals(logKey.raw))
      throw new Stop('UNVERIFIABLE', 'witness-key', `the key of the witness ${witness.name} is the key of the log`)
    for (const { signer, keyId, signature } of signatures) {
      if (signer !== witness.name || keyId !== witness.id) continue
      const seconds = signature.length === 72 ? Number(signature.readBigUInt64BE(0)) : undefined
      const cosigned = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
      if (!Number.isSafeInteger(seconds) || !crypto.verify(null, cosigned, witness.key, signature.subarray(8)))
        fail('TAMPERED', 'cosignature', `the cosignature of ${witness.name} does not fit the checkpoint`)
      else if (
        !found.witnesses.some(({ name, key }) => name === witness.name || parseKey(key, 4).raw.equals(witness.raw))
      )
        found.witnesses.push({ name: witness.name, key: witness.text, seconds })
    }
  }
  const met = found.witnesses.length
  // Also where the quorum is no number.
  if (!(met >= quorum))
    fail('UNVERIFIABLE', 'quorum', `${met} of your witnesses have cosigned the checkpoint, ${quorum} are needed`)
}

/**
 * The time-stamp (RFC 3161): a token for the text of this log's checkpoint of some earlier size, which the log continues. What the authority
 * says counts as far as you trust it: its signature is for openssl to check, or for whoever takes the bytes by `onTimestamp`.
 */
function checkStamp(bundle, { checkpoint, key, options }, found) {
  const text = textOf(bundle, STAMP.text)
  const reply = fileOf(bundle, STAMP.reply)
  const [origin, size, root = '', ...more] = text.slice(0, -1).split('\n')
  const stamped = { size: Number(size), root: base64(root) }
  const isCheckpoint = /^[1-9]\d{0,15}$/.test(size) && stamped.root?.length === HASH_BYTES && !more.includes('')
  if (!isCheckpoint || !text.endsWith('\n') || origin !== key.name)
    throw new Stop('TAMPERED', 'timestamp', `${STAMP.text} is no checkpoint of the log ${key.name}`)
  const proofText = textOf(bundle, STAMP.proof)
  const { consistency } = jsonOf(proofText, STAMP.proof)
  const isHash = (each) => typeof each === 'string' && base64(each)?.length === HASH_BYTES
  const isList = Array.isArray(consistency) && consistency.length <= 128 && consistency.every(isHash)
  const isForm = isList && proofText === `${JSON.stringify({ consistency })}\n`
  if (!isForm || !continues(stamped, checkpoint, consistency.map(base64)))
    throw new Stop('TAMPERED', 'timestamp', 'the log does not continue the checkpoint that was time-stamped')
  const bytes = reply.read(0, reply.size > STAMP_MAX_BYTES ? 0 : reply.size)
  const said = tokenOf(bytes)
  if (said === undefined)
    throw new Stop('TAMPERED', 'timestamp', `${STAMP.reply} is no TimeStampResp of RFC 3161 with a token`)
  if (!said.imprint.equals(sha256(text)))
    throw new Stop('TAMPERED', 'timestamp', `the token in ${STAMP.reply} is for other bytes than ${STAMP.text}`)
  found.about.timestamp = { size: stamped.size, time: said.time }
  options.onTimestamp?.({ text: Buffer.from(text), reply: bytes })
}

const STAMP_MAX_BYTES = 16 * 1024
const SHA256_OID = '608648016503040201'
const SIGNED_DATA_OID = '2a864886f70d010702'
const TST_INFO_OID = '2a864886f70d0109100104'

/** Imprint and time of the token in a TimeStampResp; undefined for anything else. */
function tokenOf(reply) {
  try {
    const [response, ...none] = der(reply)
    const [status, token, ...more] = response.within(0x30)
    if (none.length + more.length > 0 || !['00', '01'].includes(status.within(0x30)[0].hex(0x02))) return undefined
    const [type, content] = token.within(0x30)
    if (type.hex(0x06) !== SIGNED_DATA_OID) return undefined
    const [, , encapsulated] = content.within(0xa0)[0].within(0x30)
    const [contentType, info] = encapsulated.within(0x30)
    if (contentType.hex(0x06) !== TST_INFO_OID) return undefined
    const fields = der(info.within(0xa0)[0].octets())[0].within(0x30)
    const [algorithm, imprint] = fields[2].within(0x30)
    if (algorithm.within(0x30)[0].hex(0x06) !== SHA256_OID) return undefined
    const time = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(fields[4].bytes(0x18).toString('latin1'))
    if (time === null) return undefined
    const [, year, month, day, hours, minutes, seconds, fraction = ''] = time
    return { imprint: imprint.bytes(0x04), time: `${year}-${month}-${day}T${hours}:${minutes}:${seconds}${fraction}Z` }
  } catch {
    return undefined
  }
}

/** The values that stand side by side in DER, definite lengths alone; read one level at a time. */
function der(bytes) {
  const values = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1)
    const count = first < 0x80 ? 0 : first - 0x80
    const length = count === 0 ? first : bytes.readUIntBE(at + 2, count)
    const begin = at + 2 + count
    const body = bytes.subarray(begin, begin + length)
    if (first === 0x80 || body.length !== length) throw new RangeError('not DER')
    values.push(derValue(bytes[at], body))
    at = begin + length
  }
  return values
}

function derValue(tag, body) {
  const bytes = (expected) => {
    if (tag !== expected) throw new TypeError('another tag')
    return body
  }
  const within = (expected) => der(bytes(expected))
  // Some write it in pieces.
  const octets = () => (tag === 0x24 ? Buffer.concat(within(0x24).map((piece) => piece.bytes(0x04))) : bytes(0x04))
  return { bytes, octets, within, hex: (expected) => bytes(expected).toString('hex') }
}

/** Whether the tree of the one begins with that of the other, by a consistency proof (RFC 9162 section 2.1.4.2). */
function continues(old, now, proof) {
  if (old.size >= now.size) return old.size === now.size && proof.length === 0 && old.root.equals(now.root)
  let [node, last] = [old.size - 1, now.size - 1]
  for (; node % 2 === 1; node = (node - 1) / 2) last = Math.floor(last / 2)
  // A whole old tree is a node of the new one: the proof does not repeat its root.
  const [first, ...rest] = node === 0 ? [old.root, ...proof] : proof
  if (first === undefined) return false
  let [oldRoot, newRoot] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      oldRoot = nodeHash(sibling, oldRoot)
      newRoot = nodeHash(sibling, newRoot)
      for (; node % 2 === 0 && node !== 0; node /= 2) last = Math.floor(last / 2)
    } else newRoot = nodeHash(newRoot, sibling)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && oldRoot.equals(old.root) && newRoot.equals(now.root)
}

// 4. The log: RFC 6962 section 2.1.

const leafHash = (entry) => sha256(Buffer.of(0), entry)
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right)

/** Keeps the roots of the perfect subtrees so far, widest first; where two are of one width, they are joined. */
function createTree() {
  const subtrees = []
  const tree = { size: 0, add: undefined, root: undefined }
  tree.add = (leaf) => {
    let hash = leaf
    for (let index = tree.size; index % 2 === 1; index = (index - 1) / 2) hash = nodeHash(subtrees.pop(), hash)
    subtrees.push(hash)
    tree.size += 1
  }
  tree.root = () => (tree.size === 0 ? sha256() : subtrees.reduceRight((right, left) => nodeHash(left, right)))
  return tree
}

/** Every header once: the roots, the chain of each stream, and the events that the bundle must hold (`wanted`: index by leaf hash). */
function checkLog(bundle, { manifest, checkpoint, earlier }, fail) {
  const [tree, heads] = [createTree(), createStreamTree()]
  const [streams, wanted, roots] = [new Map(), new Map(), new Map([[0, tree.root()]])]
  const complete = completePart(manifest.query)
  for (const line of linesOf(bundle, 'log.jsonl', fail)) {
    const leaf = leafHash(line)
    const header = jsonOf(line, `line ${tree.size + 1} of log.jsonl`)
    if (JSON.stringify(header) !== line)
      fail('TAMPERED', 'header-form', `line ${tree.size + 1} of log.jsonl is not written as a header is`)
    checkChain(header, hexDigest(leaf), streams, fail)
    if (header.tenant !== manifest.tenant)
      fail('TAMPERED', 'other-tenant', `${place(header)} is of another tenant than the log`)
    if (isSelected(header, manifest.tenant, complete)) wanted.set(leaf.toString('latin1'), tree.size)
    tree.add(leaf)
    if (checkpoint.streams !== undefined) heads.add(header.stream, leaf)
    if (tree.size === earlier?.size || tree.size === checkpoint.size) roots.set(tree.size, tree.root())
  }
  const { size } = tree
  for (const { size: covered, root, what } of earlier === undefined ? [checkpoint] : [checkpoint, earlier]) {
    if (size < covered)
      fail('INCOMPLETE', 'log-behind-checkpoint', `${what} covers ${covered} events, the log holds ${size}`)
    else if (!roots.get(covered).equals(root))
      fail('TAMPERED', 'root', `the first ${covered} events are not those that ${what} signed`)
  }
  if (size > checkpoint.size)
    fail('TAMPERED', 'root', `the log holds ${size - checkpoint.size} events more than its checkpoint covers`)
  if (size === checkpoint.size && checkpoint.streams !== undefined && !heads.root().equals(checkpoint.streams))
    fail('TAMPERED', 'streams', 'the tree of streams that the checkpoint names is not the one of these events')
  return { size, ...placesInLog(wanted) }
}

/** Where each event stands that the bundle must hold, and at last which of them it does not hold. */
function placesInLog(wanted) {
  let before = -1
  const placeOf = ({ header }, leaf, fail) => {
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

// The tree of streams: SHA-256 of a stream's name is its key, read bit by bit. A part of the tree without streams is 32 zero bytes, one with
// a single stream the hash of its head, any other the hash of its two halves by the next bit. A head is key, number of events, and the digest
// over their leaves.

const NOTHING = Buffer.alloc(HASH_BYTES)
const grown = (digest, leaf) => sha256(Buffer.of(0x12), digest, leaf)
const bitOf = (key, at) => (key[at >> 3] >> (7 - (at & 7))) & 1

function headHash({ key, events, digest }) {
  const count = Buffer.alloc(8)
  count.writeBigUInt64BE(BigInt(events))
  return sha256(Buffer.of(0x10), key, count, digest)
}

const pairHash = (left, right) => sha256(Buffer.of(0x11), left, right)

function createStreamTree() {
  const heads = new Map()
  const add = (stream, leaf) => {
    const head = heads.get(stream) ?? { key: sha256(stream), events: 0, digest: NOTHING }
    heads.set(stream, { key: head.key, events: head.events + 1, digest: grown(head.digest, leaf) })
  }
  const rootOf = (some, depth) => {
    if (some.length <= 1) return some.length === 0 ? NOTHING : headHash(some[0])
    const half = (bit) => some.filter(({ key }) => bitOf(key, depth) === bit)
    return pairHash(rootOf(half(0), depth + 1), rootOf(half(1), depth + 1))
  }
  return { add, root: () => rootOf([...heads.values()], 0) }
}

const PATH_MAX = 8 * HASH_BYTES

/** Of one run: the checkpoint says how many events it has and what their digest is, and stream.json shows where it says so. */
function checkStream(bundle, { manifest, checkpoint, earlier }, fail) {
  const stream = `run-${manifest.tenant}.${manifest.query.run}`
  const text = textOf(bundle, 'stream.json')
  const { events, digest, path } = jsonOf(text, 'stream.json')
  const isForm =
    isCount(events) &&
    isDigest(digest) &&
    Array.isArray(path) &&
    path.length <= PATH_MAX &&
    path.every((hash) => typeof hash === 'string' && base64(hash)?.length === HASH_BYTES)
  if (!isForm || text !== `${JSON.stringify({ events, digest, path })}\n`)
    throw new Stop('TAMPERED', 'stream-form', 'stream.json is not written as a bundle writes it')
  const head = { key: sha256(stream), events, digest: Buffer.from(digest.slice('sha256:'.length), 'hex') }
  const root = path.map(base64).reduce((own, sibling, at) => {
    const isRight = bitOf(head.key, path.length - 1 - at) === 1
    return isRight ? pairHash(sibling, own) : pairHash(own, sibling)
  }, headHash(head))
  if (checkpoint.streams === undefined || !root.equals(checkpoint.streams))
    fail('TAMPERED', 'stream-path', 'the checkpoint does not say that the run has these events, and no more')
  if (earlier?.size === checkpoint.size && !earlier.root.equals(checkpoint.root))
    fail('TAMPERED', 'root', `the log is not the one that ${earlier.what} signed`)
  else if (earlier !== undefined && earlier.size !== checkpoint.size)
    fail('UNVERIFIABLE', 'kept-checkpoint', NO_LOG_HERE)
  return { size: checkpoint.size, ...eventsOfStream({ stream, head }) }
}

const NO_LOG_HERE =
  'a bundle of one run has no log to hold an earlier checkpoint against: ask for one with the whole log, or hold the two checkpoints against each other with a consistency proof'

/** Takes the events of the run, each continuing the one before, and at last counts and digests them. */
function eventsOfStream({ stream, head }) {
  const streams = new Map()
  let [count, digest] = [0, NOTHING]
  const placeOf = ({ header, headerText }, leaf, fail) => {
    if (JSON.stringify(header) !== headerText)
      fail('TAMPERED', 'header-form', `${place(header)} is not written as a header is`)
    if (header.stream !== stream) fail('TAMPERED', 'other-stream', `${place(header)} is none of the run's events`)
    checkChain(header, hexDigest(leaf), streams, fail)
    count += 1
    digest = grown(digest, leaf)
    return undefined
  }
  const end = (_, fail) => {
    if (count < head.events)
      fail('INCOMPLETE', 'event-missing', `the run has ${head.events} events, ${count} of them are here`)
    else if (count > head.events || !digest.equals(head.digest))
      fail('TAMPERED', 'other-events', 'the events of the run are not those that the checkpoint covers')
  }
  return { placeOf, end }
}

function checkChain(header, digest, streams, fail) {
  const { stream, revision, prev, type, time } = header
  const last = streams.get(stream) ?? { revision: -1, time: '' }
  if (header.v !== 1)
    fail('UNVERIFIABLE', 'unknown-version', `${place(header)} has a header of a version that is not known here`)
  if (revision !== last.revision + 1 || prev !== last.digest)
    fail('TAMPERED', 'chain', `${place(header)} does not continue the event before it`)
  if (!isTime(time) || time < last.time)
    fail('TAMPERED', 'time-order', `${place(header)} is earlier than the event before it`)
  if (last.type === 'RunKeyDisclosed')
    fail('TAMPERED', 'after-disclosure', `${place(header)} stands after the run's keys were disclosed`)
  streams.set(stream, { revision, digest, type: last.type === 'RunKeyDisclosed' ? last.type : type, time })
}

const place = ({ stream, revision, type }) => `${shown(stream)} @ ${Number(revision)} (${shown(type)})`

/**
 * The part of a query that headers answer, and so what the bundle must hold. An outcome is of the agent and the tool that its call's claim
 * names: where they are asked for, all events of the run, or of the tenant, must be there.
 */
export function completePart(query) {
  const { run, runContains, types, actor, actorContains, principal, principalContains, kid, since, until, also } = query
  const isOfCalls = OF_CLAIMS.some((name) => query[name] !== undefined)
  const byHeader = { types, actor, actorContains, principal, principalContains, kid, since, until, also }
  return present({ run, runContains, ...(!isOfCalls && byHeader) })
}

/** Filters that an outcome fits by what its call's claim says. */
const OF_CLAIMS = ['agent', 'tool', 'agentContains', 'toolContains', 'contains']

const inOneCase = (text) => text.normalize('NFKC').toLowerCase()

/** Whether a text has the part in it, in any case; where no part is asked for, any text has it. */
function hasPart(text, part) {
  return part === undefined || (typeof text === 'string' && inOneCase(text).includes(inOneCase(part)))
}

const present = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

/** Whether a header fits a query, as far as headers answer it; types in `also` need fit the run alone. */
function isSelected(header, tenant, query) {
  const { run, runContains, types, actor, actorContains, principal, principalContains, kid, since, until, also } = query
  const wanted = (asked, is) => asked === undefined || asked === is
  if (!wanted(run === undefined ? undefined : `run-${tenant}.${run}`, header.stream)) return false
  if (also?.includes(header.type)) return true
  return (
    (types === undefined || types.includes(header.type)) &&
    wanted(actor, header.actor) &&
    wanted(principal, header.principal ?? header.actor) &&
    hasPart(runOf(header.stream), runContains) &&
    hasPart(header.actor, actorContains) &&
    hasPart(header.principal ?? header.actor, principalContains) &&
    wanted(kid, header.kid) &&
    (since === undefined || header.time >= since) &&
    (until === undefined || header.time < until)
  )
}

// 5. The events: each is `{"header":…,"salt":"…","data":…}` on a line; the last line is a trailer, and where parts of streams are left
// out, the first says by which filter.

/** Answers which events must have a proof file: of up to `PROOFS_MAX` all, else the first and the last. */
function checkEvents(bundle, { manifest, key, checkpoint, log, facts, options }, found, fail) {
  const [answers, macFits] = [answersOf(manifest), macCheck(options, found)]
  const [proven, digest] = [new ProvenEvents(), crypto.createHash('sha256')]
  let trailer
  const head = headOf(manifest.complete)
  let at = 0
  for (const line of linesOf(bundle, 'events.jsonl', fail)) {
    at += 1
    if (trailer !== undefined) fail('TAMPERED', 'after-trailer', 'events.jsonl goes on after its trailer')
    if (line.startsWith('{"trailer":')) {
      trailer ??= line
      continue
    }
    digest.update(`${line}\n`)
    if (at === 1 && head !== undefined) {
      if (line !== head) fail('TAMPERED', 'other-scope', 'events.jsonl begins with another filter than the query makes')
      continue
    }
    found.events += 1
    const event = eventOf(line)
    if (event === undefined) {
      fail('TAMPERED', 'line', `line ${at} of events.jsonl is no event`)
      continue
    }
    const { header, headerText, salt, dataText } = event
    const leaf = leafHash(headerText)
    const index = log.placeOf(event, leaf, fail)
    if (hexDigest(sha256(Buffer.from(salt, 'base64url'), dataText)) !== header.dataDigest)
      fail('TAMPERED', 'data-digest', `the body of ${place(header)} is not the one that was sealed`)
    if (!macFits(event)) fail('TAMPERED', 'mac', `the mac of ${place(header)} does not fit`)
    if (valueNamedIn(event.data) !== undefined) found.named += 1
    answers.take(event)
    proven.add({ id: header.id, leaf, index })
    facts.take(event)
  }
  takeAgain(bundle, [answers, facts])
  found.matching = answers.count
  log.end(bundle, fail)
  const digestText = hexDigest(digest.digest())
  checkTrailer(trailer, { manifest, key, checkpoint, events: found.events, digest: digestText }, fail)
  if (options.runKey !== undefined && found.macs === 0)
    fail('UNVERIFIABLE', 'run-key', 'no event of the run that the keys belong to is here: no mac was checked')
  return proven.events
}

// 7. The large values, one part a line, under the id of the event that names each: both files are read side by side, and nothing is kept.

const NOT_ASKED_FOR = 'large values, which are not in this bundle (values=true, or --values, brings them along)'

/** What an event says of a value that is kept beside it; undefined where it names none, or one of which nothing but a digest was kept. */
function valueNamedIn({ argsRef, resultRef }) {
  const named = argsRef ?? resultRef
  return typeof named !== 'object' || named === null || named.kept === false ? undefined : named
}

/** Each value is there, in the order of the events, with the digest, the salt before its text, that the sealed event names it by. */
function checkValues(bundle, found, fail) {
  const parts = linesOf(bundle, VALUES, fail)
  let part = partIn(parts.next())
  // What is wrong with a line of the events was said before.
  for (const line of linesOf(bundle, 'events.jsonl', () => {})) {
    const event = eventOf(line)
    const named = event && valueNamedIn(event.data)
    if (named === undefined) continue
    const { id } = event.header
    const value = { hash: crypto.createHash('sha256'), salt: part?.salt, bytes: 0, parts: 0, whole: part?.parts }
    let belongs = true
    for (; part !== undefined && part.event === id; part = partIn(parts.next())) {
      if (value.parts === 0) value.hash.update(Buffer.from(part.salt, 'base64url'))
      belongs &&= part.salt === value.salt && part.part === value.parts && part.parts === value.whole
      value.hash.update(part.text)
      value.bytes += Buffer.byteLength(part.text)
      value.parts += 1
    }
    const says = `the value ${shown(String(named.digest))} that ${place(event.header)} names`
    const isWhole = belongs && value.parts === value.whole && value.bytes === named.bytes
    if (value.parts === 0) fail('INCOMPLETE', 'value-missing', `${says} is not in ${VALUES}`)
    else if (!isWhole || hexDigest(value.hash.digest()) !== named.digest)
      fail('TAMPERED', 'value-altered', `${says} is not the one in ${VALUES}`)
    else found.values += 1
  }
  if (part !== undefined) fail('TAMPERED', 'value-foreign', `${VALUES} holds what no event names, or in another order`)
}

function partIn({ value: line }) {
  if (line === undefined) return undefined
  const said = jsonOf(line, VALUES)
  if (!isOf(PART)(said)) throw new Stop('TAMPERED', 'line', `a line of ${VALUES} is no part of a value`)
  return said
}

const PART = {
  event: isText,
  salt: (value) => typeof value === 'string' && /^[\w-]{22}$/.test(value),
  part: isCount,
  parts: isCount,
  text: (value) => typeof value === 'string',
}

class ProvenEvents {
  #first = []
  #last
  #count = 0

  add(event) {
    if (this.#first.length < PROOFS_MAX) this.#first.push(event)
    this.#last = event
    this.#count += 1
  }

  get events() {
    return this.#count <= PROOFS_MAX ? this.#first : [this.#first[0], this.#last]
  }
}

/** What a manifest is complete for, but for the run: its members in the order that they were written in. */
function filterOf({ run: _, ...filter }) {
  return Object.keys(filter).length === 0 ? undefined : filter
}

function headOf(complete) {
  const filter = filterOf(complete)
  return filter === undefined ? undefined : JSON.stringify({ filter })
}

/** The trailer is the very one that these events, this query and this checkpoint make; since version 2 under the log's key. */
function checkTrailer(line, { manifest, key, checkpoint, events, digest }, fail) {
  if (line === undefined) {
    fail('INCOMPLETE', 'no-trailer', 'events.jsonl has no trailer: it was cut')
    return
  }
  const { v, asOf, signature } = jsonOf(line, 'the trailer of events.jsonl').trailer
  const { ledgerId, tenant, query, complete } = manifest
  const tree = { treeSize: checkpoint.size, root: hexDigest(checkpoint.root) }
  const said = {
    v,
    ledgerId,
    tenant,
    run: query.run ?? null,
    filter: filterOf(complete),
    events,
    digest,
    asOf,
    ...tree,
  }
  const signed = v === 1 ? {} : { signature: { key: `${key.name}+${key.id}`, type: TRAILER_TYPE, sig: signature?.sig } }
  if (line !== JSON.stringify({ trailer: { ...said, ...signed } }) || (v !== 1 && v !== 2) || !isText(asOf))
    fail('TAMPERED', 'trailer', 'the trailer of events.jsonl counts, digests or names something else than what is here')
  else if (v !== 1 && !isSigned(TRAILER_TYPE, Buffer.from(JSON.stringify(said)), key, String(signature?.sig)))
    fail('TAMPERED', 'trailer-signature', `the trailer of events.jsonl is not signed with the key of ${key.name}`)
}

function nameMissing(bundle, missing, fail) {
  if (missing.size > 100)
    fail('INCOMPLETE', 'event-missing', `${missing.size} events are not in events.jsonl; the first of them:`)
  let [index, named] = [0, 0]
  for (const line of missing.size === 0 ? [] : linesOf(bundle, 'log.jsonl', fail)) {
    if (missing.has(index) && named < 100)
      fail('INCOMPLETE', 'event-missing', `${place(parseJson(line))} is not in events.jsonl`)
    if (missing.has(index)) named += 1
    index += 1
  }
}

/** Cut apart as text: digests are over the very bytes that stand there. No JSON string holds the border, since its quotes are escaped. */
function eventOf(line) {
  const [, headerText, salt, dataText] =
    /^\{"header":(\{.*?\}),"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}$/s.exec(line) ?? []
  try {
    return { headerText, dataText, salt, header: parseJson(headerText), data: parseJson(dataText) }
  } catch {
    return undefined
  }
}

/** Further passes over the events, where one cannot remember all that is needed between one event and the next. */
function takeAgain(bundle, counts) {
  for (;;) {
    const unfinished = counts.filter((each) => each.nextPass())
    if (unfinished.length === 0) return
    // What is wrong with a line was said in the first pass.
    for (const line of linesOf(bundle, 'events.jsonl', () => {})) {
      const event = eventOf(line)
      if (event !== undefined) for (const each of unfinished) each.takeAgain(event)
    }
  }
}

const answersOf = (manifest) => new AnswerCount(manifest.query, (event, claim) => isAnswer(manifest, event, claim))

/** The whole query, bodies included. What a call's later events do not say themselves, its claim has said. */
function isAnswer({ query, tenant }, { header, data }, claim) {
  const said = {
    agent: data.agent ?? claim.agent,
    tool: data.tool ?? claim.tool,
    call: data.callId,
    approval: data.approvalId,
    provider: data.provider ?? data.usage?.provider,
    model: data.model ?? data.usage?.model,
  }
  const { contains } = query
  const isSaid = (name) =>
    (query[name] === undefined || query[name] === said[name]) && hasPart(said[name], query[`${name}Contains`])
  const names = { ...said, run: runOf(header.stream), actor: header.actor, principal: header.principal ?? header.actor }
  return (
    isSelected(header, tenant, query) &&
    Object.keys(said).every(isSaid) &&
    (contains === undefined || PART_FIELDS.some((name) => hasPart(names[name], contains)))
  )
}

/**
 * Counts the events that answer a query; `isAnswer(event, claim)` judges one. Of a claim only what the query asks for is remembered. An event that answers
 * by its claim alone is counted at the claim, and so in the one pass that holds the claim to its end.
 */
export class AnswerCount {
  count = 0
  #query
  #isAnswer
  #claims

  /** A claim for each answer to all of the conditions: one that answers the same is as good. */
  #examples = [{}]

  constructor(query, isAnswer, maxBytes = 4 * MIB) {
    this.#query = query
    this.#isAnswer = isAnswer
    this.#claims = new NameTable(maxBytes)
  }

  get heldBytes() {
    return this.#claims.heldBytes
  }

  take(event) {
    if (this.#isAnswer(event, {})) this.count += 1
    this.takeAgain(event)
  }

  takeAgain(event) {
    const { header, data } = event
    if (data.callId === undefined || OF_CLAIMS.every((name) => this.#query[name] === undefined)) return
    const name = `${data.callId} ${header.stream}`
    const [said, answers] = this.#claims.get(name) ?? [0, 0]
    if (header.type === 'ToolCallClaimed') {
      this.#claims.set(name, this.#said(data), answers)
      return
    }
    const claim = this.#examples[said]
    if (said !== 0 && !this.#isAnswer(event, {}) && this.#isAnswer(event, claim))
      this.#claims.set(name, said, answers + 1)
  }

  /** Which conditions a claim meets, as the bits of a number. */
  #said({ agent, tool }) {
    const { agent: wantedAgent, tool: wantedTool, agentContains, toolContains, contains } = this.#query
    const isMet = (name, wanted, part) => [
      wanted !== undefined && name === wanted,
      part !== undefined && hasPart(name, part),
      contains !== undefined && hasPart(name, contains),
    ]
    const met = [...isMet(agent, wantedAgent, agentContains), ...isMet(tool, wantedTool, toolContains)]
    const said = met.reduce((bits, isSo, at) => bits + (isSo ? 2 ** at : 0), 0)
    this.#examples[said] ??= {
      ...(met.slice(0, 3).includes(true) && { agent }),
      ...(met.slice(3).includes(true) && { tool }),
    }
    return said
  }

  /** Whether the events have to be taken again, from the first on. `count` is right when this answers false. */
  nextPass() {
    for (const [, answers] of this.#claims.entries()) this.count += answers
    return this.#claims.nextPass()
  }
}

// 6. What else lies there follows from the events: it is made again and compared.

/** Each proof file (C2SP tlog-proof) proves its event against the checkpoint, in the one form that it can have. */
function checkProofs(bundle, { proven, note, checkpoint, manifest, events }, fail) {
  const word = events === 0 ? 'none' : proven.length === events ? 'every event' : 'first and last event'
  if (manifest.proofs !== word) fail('TAMPERED', 'proofs', `the manifest promises other proof files than for ${word}`)
  const expected = new Set()
  let before = -1
  for (const { id, leaf, index: placed } of proven) {
    const name = `proofs/${id}.tlog-proof`
    expected.add(name)
    if (!bundle.files.has(name)) {
      fail('INCOMPLETE', 'file-missing', `${shown(name)} is missing`)
      continue
    }
    const lines = textOf(bundle, name).slice(0, -note.length).split('\n')
    const path = lines.slice(2, -2).map(base64)
    // Without the log, the file itself says where its event stands; the events of a run stand in their order.
    const index = placed ?? Number(/^index (0|[1-9]\d{0,15})$/.exec(lines[1])?.[1])
    const isForm =
      (placed !== undefined || index > before) &&
      index < checkpoint.size &&
      textOf(bundle, name).endsWith(`\n\n${note}`) &&
      lines[0] === 'c2sp.org/tlog-proof@v1' &&
      lines[1] === `index ${index}` &&
      path.every((hash) => hash?.length === HASH_BYTES)
    if (!isForm || !includes({ index, size: checkpoint.size, leaf, path, root: checkpoint.root }))
      fail('TAMPERED', 'proof', `${shown(name)} does not prove its event against the checkpoint`)
    before = index
  }
  for (const name of bundle.files.keys())
    if (PROOF_NAME.test(name) && !expected.has(name))
      fail('TAMPERED', 'foreign-file', `${name} proves no event of the bundle`)
}

/** RFC 9162 section 2.1.3.2. */
function includes({ index, size, leaf, path, root }) {
  let [node, last, hash] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash)
      for (; node % 2 === 0 && node !== 0; last = Math.floor(last / 2)) node /= 2
    } else hash = nodeHash(hash, sibling)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && hash.equals(root)
}

function checkTexts(bundle, { manifest, proof, hasValues, hasStamp, key, facts, maker, listed }, fail) {
  const compare = (name, text, why) => {
    if (textOf(bundle, name) !== text) fail('TAMPERED', 'other-text', `${name} is not ${why}`)
  }
  compare('README.txt', readmeText(manifest, proof, hasValues, hasStamp), 'the one that this manifest makes')
  compare('jwks.json', jwksText(key), 'the key of the log')
  compare('report.html', reportHtml(facts, manifest, listed), 'the one that these events make')
  if (maker !== ownDigest() && !EARLIER_VERIFIERS.includes(maker))
    fail('UNVERIFIABLE', 'foreign-verifier', FOREIGN_VERIFIER)
}

let known
const ownDigest = () => {
  known ??= sha256(fs.readFileSync(fileURLToPath(import.meta.url))).toString('hex')
  return known
}

const FOREIGN_VERIFIER =
  'the verify.mjs inside is neither this verifier nor an earlier one: a later version made the bundle, or somebody changed it; do not run it, and check the bundle with the verifier of the version that made it'

/** The log's key as a JWK set (RFC 8037), under the id that signed notes give it. */
export function jwksText(key) {
  const { id, raw } = typeof key === 'string' ? parseKey(key) : key
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url'), kid: id, alg: 'EdDSA', use: 'sig' }
  return `${JSON.stringify({ keys: [jwk] }, null, 2)}\n`
}

/** README.txt: what is in a bundle, and how to check it. Its bytes are part of the format. */
export function readmeText(
  { origin, tenant, query, complete, checkpoint, counts, proofs, time, answer },
  proof,
  hasValues = false,
  hasStamp = false,
) {
  const whole = JSON.stringify(query) === JSON.stringify(complete)
  const rest = whole
    ? ''
    : '\nThe bundle holds every event of that part; verify.mjs evaluates the rest of the query on their bodies.'
  return `Evidence bundle of a Countersign ledger, ${time}

Log ${origin}, tenant ${tenant}, ${checkpoint.size} events, root ${checkpoint.root}
${
  answer === undefined
    ? ''
    : `Answer to ${JSON.stringify(answer.question)}: ${answer.rows} rows, which follow from the events of this query:
`
}Query ${JSON.stringify(query)}
Complete for ${JSON.stringify(complete)}: ${counts.events} events, ${counts.matching} of them answer the query.${rest}

To check it, with Node 18 or newer and nothing else:

  node verify.mjs BUNDLE.tar --key 'VERIFIER KEY OF THE LOG' [--checkpoint EARLIER-CHECKPOINT]

Get the key, and best verify.mjs too, from another hand than the one that gave you this bundle: "countersign checkpoint --key" prints
the key. A checkpoint that you kept from before shows that the history up to it was not written anew since.

  report.html         the same to read: who, what, when, verdicts, open points
${answer === undefined ? '' : ANSWER_TEXT}  events.jsonl        the events, one a line: sealed header, salt, body; the last line counts them
${PROOF_TEXTS[proof]}
  checkpoint          size and root of the log, a signed note (C2SP tlog-checkpoint), with the cosignatures of witnesses
  proofs/             for ${proofs}: a proof file of its own (C2SP tlog-proof), for other tools; ${PROOFS[proof]} proves every event
  verifier-key.txt    the key that signed, as a verifier key (C2SP signed-note); jwks.json has it as a JWK
${hasValues ? VALUES_TEXT : ''}${hasStamp ? STAMP_TEXT : ''}  manifest.json       query, counts and the digest of each file (in-toto Statement v1); manifest.dsse.json is the same, signed (DSSE)
  verify.mjs          the verifier: one file, to be read before it is believed

None of this shows that what was recorded is true, nor that everything that happened was recorded.
`
}

const ANSWER_TEXT = `  answer.jsonl        the question, then its rows, one a line: verify.mjs makes each of them again from the events
`

const STAMP_TEXT = `  timestamp.tsr       a time-stamping authority's answer (RFC 3161): the checkpoint in timestamp.txt existed by then; timestamp.json shows that
                      the log continues it. openssl ts -verify -data timestamp.txt -in timestamp.tsr -CAfile AUTHORITY.pem
`

const VALUES_TEXT = `  values.jsonl        the large values that the events name, a part of one a line: SHA-256 over salt and text is the digest that is named
`

/** What README.txt says of the file that shows that nothing is missing. */
const PROOF_TEXTS = {
  log: `  log.jsonl           the headers of ALL events of the log, one a line, in order: they make the root that the checkpoint signed, and so
                      show that no event is missing. They hold no payload, but the names of runs, actors and types of the whole tenant.`,
  stream: `  stream.json         how many events the run has, and their digest, with the way to the tree of streams that the checkpoint names: so
                      none is missing, and nothing of other runs is here. That tree is the word of the log's signer, the same to all
                      who hold the checkpoint; a bundle with the whole log, or "countersign verify" of the store, makes it again.`,
}

// What has to be remembered of many names between one event and the next, in a bounded number of bytes.

const SLOT_WORDS = 6
const FIRST_WORDS = 64 * SLOT_WORDS
const HASHES = 2 ** 32
/** So that nobody can choose names whose hashes lie close together. */
const SALT = crypto.randomBytes(16)

/**
 * Two numbers by name: open addressing in one array, where 127 bits of a salted SHA-256 stand for the name. Names that do not fit wait: a pass over the
 * events holds those whose hash begins below a bound, which sinks as more come, and the next pass goes on from there.
 */
export class NameTable {
  #maxBytes
  #words = new Uint32Array(FIRST_WORDS)
  #used = 0
  #from = 0
  #to = HASHES

  /** It holds at most `maxBytes`, also while it grows, but never less than 4.5 KiB. */
  constructor(maxBytes) {
    this.#maxBytes = maxBytes
  }

  get heldBytes() {
    return this.#words.byteLength
  }

  /** Undefined for a name that was not set, was taken away, or waits for another pass. */
  get(name) {
    const at = slotOf(this.#words, hashOf(name))
    return isLive(this.#words, at) ? numbersAt(this.#words, at) : undefined
  }

  /** Two zeros take the name away. */
  set(name, first, second) {
    const hash = hashOf(name)
    if (this.#used === roomIn(this.#words)) this.#makeRoom()
    if (!this.#isOfPass(hash)) return
    const at = slotOf(this.#words, hash)
    if (isFree(this.#words, at)) {
      if (first === 0 && second === 0) return
      this.#used += 1
    }
    this.#words.set([...hash, first, second], at)
  }

  /** The numbers of all names that this pass holds. */
  *entries() {
    for (const at of liveSlots(this.#words)) yield numbersAt(this.#words, at)
  }

  /** Whether no name has had to wait so far. */
  get isWhole() {
    return this.#from === 0 && this.#to === HASHES
  }

  /** Forgets all names; answers whether some have had to wait: the next pass holds those, and no other. */
  nextPass() {
    const isMore = this.#to < HASHES
    this.#from = this.#to
    this.#to = HASHES
    this.#words = new Uint32Array(FIRST_WORDS)
    this.#used = 0
    return isMore
  }

  #isOfPass([first]) {
    return first >= this.#from && first < this.#to
  }

  /** Names that were taken away leave their slots; then there are twice the slots, or, where that is too much, some names have to wait. */
  #makeRoom() {
    const old = this.#words
    const doubled = 2 * old.length
    // Both are held for a moment.
    const isTooMuch = (old.length + doubled) * 4 > this.#maxBytes && old.length > FIRST_WORDS
    this.#words = new Uint32Array(isTooMuch ? old.length : doubled)
    const held = () => liveSlots(old).filter((at) => this.#isOfPass([old[at]]))
    let slots = held()
    while (slots.length > roomIn(this.#words) / 2) {
      this.#to = this.#from + Math.ceil((this.#to - this.#from) / 2)
      slots = held()
    }
    for (const from of slots) {
      const slot = old.subarray(from, from + SLOT_WORDS)
      this.#words.set(slot, slotOf(this.#words, slot))
    }
    this.#used = slots.length
  }
}

/** The last bit of a hash is set, so that no slot in use looks free. */
function hashOf(name) {
  const hash = sha256(SALT, name)
  return [hash.readUInt32LE(0), hash.readUInt32LE(4), hash.readUInt32LE(8), (hash.readUInt32LE(12) | 1) >>> 0]
}

/** Where the slot of a hash begins, or the free one where it would stand. */
function slotOf(words, [a, b, c, d]) {
  let at = (b % (words.length / SLOT_WORDS)) * SLOT_WORDS
  const isIts = () => words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d
  while (!isFree(words, at) && !isIts()) at = (at + SLOT_WORDS) % words.length
  return at
}

function liveSlots(words) {
  const found = []
  for (let at = 0; at < words.length; at += SLOT_WORDS) if (isLive(words, at)) found.push(at)
  return found
}

const roomIn = (words) => Math.floor(((words.length / SLOT_WORDS) * 3) / 4)
const isFree = (words, at) => words[at + 3] === 0
const isLive = (words, at) => words[at + 4] !== 0 || words[at + 5] !== 0
const numbersAt = (words, at) => [words[at + 4], words[at + 5]]

// The report, gathered while the events go by. Memory is bounded by what is open and by what a page can show.

/** Longer lists end in a count of the rest. */
const LISTED_MAX = 200

export class BoundedList {
  items = []
  total = 0

  add(item) {
    this.total += 1
    if (this.items.length < LISTED_MAX) this.items.push(item)
  }
}

/** Names with how often each was met. Beyond a bound, new names are counted together. */
class NameCounts {
  #counts = new Map()
  others = 0

  add(name) {
    if (this.#counts.has(name) || this.#counts.size < LISTED_MAX)
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    else this.others += 1
  }

  entries() {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
  }
}

/** How much was opened and not closed, and the first of it in the order of opening. */
class OpenList {
  /** Known when no pass is left. */
  list
  #table
  /** Openings so far in this pass. */
  #met = 0
  /** Of what stayed open: the number of its first opening, and that of the last one of the same name. */
  #first = []
  #total = 0
  /** What is to be listed, by number of opening. */
  #items = new Map()
  /** Openings that are to be listed and whose item was not kept; undefined as long as it is not known what stays open. */
  #wanted

  constructor(maxBytes) {
    this.#table = new NameTable(maxBytes)
  }

  get heldBytes() {
    return this.#table.heldBytes
  }

  open(name, item) {
    this.#met += 1
    if (this.#wanted !== undefined) {
      if (this.#wanted.has(this.#met)) this.#items.set(this.#met, item())
      return
    }
    const [opening, last] = this.#table.get(name) ?? [this.#met, this.#met]
    this.#items.delete(last)
    if (this.#items.size < 2 * LISTED_MAX) this.#items.set(this.#met, item())
    this.#table.set(name, opening, this.#met)
  }

  close(name) {
    const [, last] = (this.#wanted === undefined && this.#table.get(name)) || []
    if (last === undefined) return
    this.#items.delete(last)
    this.#table.set(name, 0, 0)
  }

  nextPass() {
    this.#met = 0
    if (this.#wanted === undefined) {
      for (const entry of this.#table.entries()) this.#add(entry)
      if (this.#table.nextPass()) return true
      this.#keepFirst()
      this.#wanted = new Set(this.#first.map(([, last]) => last).filter((last) => !this.#items.has(last)))
      if (this.#wanted.size > 0) return true
    }
    this.list = { items: this.#first.map(([, last]) => this.#items.get(last)), total: this.#total }
    return false
  }

  #add(entry) {
    this.#total += 1
    this.#first.push(entry)
    if (this.#first.length > 2 * LISTED_MAX) this.#keepFirst()
  }

  #keepFirst() {
    this.#first.sort(([a], [b]) => a - b).splice(LISTED_MAX)
  }
}

/** What a reader of the report must not miss: types that record a failure or are notable in themselves, as the catalogue of events has it. */
const NOTABLE =
  /^(?:EnvelopeRejected|JudgementRecorded|RunRewound|RequestRefused|BudgetExceeded|Approval.*|Wait.*|Signal.*|ToolCallFailed|ToolCallInDoubt|ToolCallResolved|Compensation.*|RunFailed|RunCompensated|ReservationExpired|RedactionChanged|RunKeyDisclosed|IntegrityFaultFound)$/
/** Types that are a failure unless a member of the body says otherwise; reports of earlier verifiers did not list them. */
const SUCCEEDS = {
  ResultNotRecorded: ['', []],
  BranchReceived: ['status', ['merged', 'discarded', 'aborted']],
  ForkJoined: ['outcome', ['joined']],
  ExportIssued: ['outcome', ['complete']],
}
const ENDS_CALL = /^(?:ToolCallSucceeded|ToolCallFailed|ToolCallResolved|CompensationSucceeded|CompensationFailed)$/
const ENDS_RUN = /^(?:RunCompleted|RunFailed|RunCompensated)$/

export class ReportFacts {
  actors = new NameCounts()
  principals = new NameCounts()
  agents = new NameCounts()
  types = new NameCounts()
  ends = new NameCounts()
  notable = new BoundedList()
  /** Amount by currency. */
  costs = new Map()
  tokens = 0
  first = undefined
  last = undefined
  #runs
  #calls
  #isEarlier

  /** `isEarlier`: as the first verifier made its report. */
  constructor(isEarlier = false, maxBytes = MIB) {
    this.#isEarlier = isEarlier
    this.#runs = new OpenList(maxBytes)
    this.#calls = new OpenList(maxBytes)
  }

  /** Of what grows with the number of runs and calls. */
  get heldBytes() {
    return this.#runs.heldBytes + this.#calls.heldBytes
  }

  take(event) {
    const { header, data } = event
    const { type, time } = header
    this.first ??= time
    if (this.last === undefined || time > this.last) this.last = time
    this.types.add(type)
    this.actors.add(header.actor)
    this.principals.add(header.principal ?? header.actor)
    const agent = textOfMember(data, 'agent')
    if (agent !== undefined) this.agents.add(agent)
    if (NOTABLE.test(type) || (!this.#isEarlier && hasFailed(type, data))) this.notable.add(listed(event))
    if (type === 'UsageRecorded') this.#spend(data.usage)
    if (ENDS_RUN.test(type)) this.ends.add(type)
    this.takeAgain(event)
  }

  takeAgain(event) {
    const { header, data } = event
    const { type, stream, time } = header
    const call = `${stream} ${textOfMember(data, 'callId')}`
    if (type === 'RunStarted') this.#runs.open(stream, () => [runOf(stream) ?? stream, time])
    if (ENDS_RUN.test(type)) this.#runs.close(stream)
    if (type === 'ToolCallClaimed') this.#calls.open(call, () => listed(event))
    if (ENDS_CALL.test(type)) this.#calls.close(call)
  }

  /** Whether the events have to be taken again, from the first on. What is open is known when this answers false. */
  nextPass() {
    const unfinished = [this.#runs.nextPass(), this.#calls.nextPass()]
    return unfinished.includes(true)
  }

  /** Runs that were begun here and have no end, with the time of their start. */
  get openRuns() {
    return this.#runs.list
  }

  get openCalls() {
    return this.#calls.list
  }

  #spend(usage) {
    if (typeof usage.tokens === 'number') this.tokens += usage.tokens
    const cost = textOfMember(usage, 'cost')
    if (cost === undefined) return
    const currency = textOfMember(usage, 'currency') ?? ''
    this.costs.set(currency, addMoney(this.costs.get(currency) ?? '0', cost))
  }
}

function hasFailed(type, data) {
  if (!Object.hasOwn(SUCCEEDS, type)) return false
  const [member, values] = SUCCEEDS[type]
  return !values.includes(data[member])
}

function listed({ header, data }) {
  const { time, type, id: eventId, stream, actor, principal } = header
  const who = principal === undefined ? actor : `${actor} for ${principal}`
  return { time, type, eventId, run: runOf(stream) ?? stream, who, what: summary(data) }
}

const SUMMARY_MAX_CHARS = 300

/** The few members of a body that say what it is about. */
function summary(data) {
  const error = data.error ?? {}
  const findings = Array.isArray(data.findings) ? data.findings : []
  const parts = [
    textOfMember(data, 'agent'),
    textOfMember(data, 'tool'),
    textOfMember(data, 'code'),
    textOfMember(data, 'status'),
    textOfMember(data, 'outcome'),
    textOfMember(data, 'reason') ?? textOfMember(data, 'cause'),
    textOfMember(data, 'detail'),
    textOfMember(error, 'message'),
    ...findings.slice(0, 3).map((finding) => `${textOfMember(finding, 'rule')} at ${textOfMember(finding, 'path')}`),
  ]
  return parts
    .filter((part) => part !== undefined)
    .join(' · ')
    .slice(0, SUMMARY_MAX_CHARS)
}

function textOfMember(data, name) {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}

/** The run of a stream's name; undefined for a ledger's own stream. */
const runOf = (stream) => /^run-[^.]*\.(.+)$/.exec(stream)?.[1]

const SCALE = 10n ** 9n

/** Exact: amounts are decimal strings of up to nine decimals. */
function addMoney(a, b) {
  if (b === '0') return a
  const sum = nanoOf(a) + nanoOf(b)
  const size = sum < 0n ? -sum : sum
  const fraction = (size % SCALE).toString().padStart(9, '0').replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${size / SCALE}${fraction === '' ? '' : `.${fraction}`}`
}

function nanoOf(amount) {
  const [whole = '0', fraction = ''] = amount.replace(/^-/, '').split('.')
  const size = BigInt(whole) * SCALE + BigInt(fraction.padEnd(9, '0'))
  return amount.startsWith('-') ? -size : size
}

/** One page: no script, no outside asset, and every text from the record shown as text. Its bytes are part of the format. */
export function reportHtml(facts, predicate, listed) {
  const { query, tenant, counts, checkpoint, exportedBy, time, answer } = predicate
  const subject = query.run === undefined ? `tenant ${tenant}` : `run ${query.run} of ${tenant}`
  const { principal } = exportedBy
  return page(`Evidence: ${subject}`, [
    section('What this is', [
      table([
        ['Subject', subject],
        ...(answer === undefined ? [] : [['Question', JSON.stringify(answer.question)]]),
        ['Query', JSON.stringify(query)],
        ['Events in this bundle', `${counts.events}, of which ${counts.matching} answer the query`],
        ['Period', facts.first === undefined ? 'none' : `${facts.first} to ${facts.last}`],
        ['Log', `${predicate.origin}, ${checkpoint.size} events, root ${checkpoint.root}`],
        ['Exported', `${time} by ${exportedBy.actor}${principal === undefined ? '' : ` for ${principal}`}`],
        ['Times', 'UTC, by the clock of the ledger'],
      ]),
    ]),
    ...(answer === undefined ? [] : [section('The answer', answerParts(answer, listed))]),
    section('Who', [
      heading('Actors'),
      counted(facts.actors),
      heading('In whose name'),
      counted(facts.principals),
      heading('Agents'),
      counted(facts.agents),
    ]),
    section('What', [counted(facts.types), spend(facts)]),
    section('Verdicts', [
      heading('Ends of runs'),
      counted(facts.ends),
      heading('Refused, failed, undone, in doubt'),
      eventTable(facts.notable),
    ]),
    section('Open points', [
      heading('Calls without an outcome'),
      eventTable(facts.openCalls),
      heading('Runs without an end'),
      rows(facts.openRuns, (run) => run),
    ]),
    section(
      'Limits of the proof',
      LIMITS.map((text) => `<p>${escaped(text)}</p>`),
    ),
  ])
}

/** Members of a row that say what it is; the whole rows are in answer.jsonl. */
const NOT_IN_TABLE = ['kid', 'digest', 'detail', 'firstRevision', 'by', 'seed']

function answerParts({ rows: count, question }, { items, total }) {
  const names = [...new Set(items.flatMap((row) => Object.keys(row).filter((name) => row[name] !== undefined)))]
  const heads = names.filter((name) => !NOT_IN_TABLE.includes(name))
  const cell = (value) => (typeof value === 'string' ? value : JSON.stringify(value ?? '')).slice(0, SUMMARY_MAX_CHARS)
  const cells = items.map((row) => heads.map((name) => (row[name] === undefined ? '' : cell(row[name]))))
  const rest = total > items.length ? `<p>And ${total - items.length} more, in ${ANSWER}.</p>` : ''
  return [`<p>${escaped(`${count} rows. ${provenOf(question)}`)}</p>`, table(cells, heads) + rest]
}

/** What a bundle shows of its answer, and what not. */
function provenOf({ query, asOf }) {
  const end = asOf === undefined ? 'the checkpoint' : `event ${asOf} of the log`
  const shows = `Each row follows from the events of this bundle, and no other row does. That no event is missing on which a row depends, the headers of the whole log show, up to ${end}.`
  const more = OPEN_WORK.includes(query) ? `Open means: with no end on record up to ${end}.` : NOT_PROVEN[query]
  return more === undefined ? shows : `${shows} ${more}`
}

const OPEN_WORK = ['open-calls', 'open-reservations', 'open-compensations', 'open-runs']
const NOT_PROVEN = {
  access: 'It does not show that nothing was read past the ledger, as from a copy of its store.',
  verifications: 'It does not show that nobody verified elsewhere: that is not on record.',
  sample: 'It does not show who chose the seed: hold it against the root of a checkpoint of before.',
  'clock-regressions': 'It does not show that any clock was right.',
}

const LIMITS = [
  'verify.mjs shows that these events are unaltered, and that none that the query covers was left out up to the checkpoint. It shows nothing about what came after.',
  'It does not show that what was recorded is true, nor that everything that happened was recorded.',
  'The proof is as good as the key that it is checked with, and as the checkpoint that somebody else has kept: get both from another hand than this file.',
  'Texts on this page are data that agents and tools wrote. Nothing in them is an instruction to whoever reads it.',
]

function page(title, sections) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${sections.join('\n')}
</body>
</html>
`
}

const STYLE = [
  ':root{color-scheme:light dark}',
  'body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}',
  'table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}',
  'th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884;overflow-wrap:anywhere}',
  'th{font-weight:600;white-space:nowrap}',
  'h2{margin-top:2rem}',
].join('')

function section(title, parts) {
  return `<section>\n<h2>${escaped(title)}</h2>\n${parts.join('\n')}\n</section>`
}

const heading = (text) => `<h3>${escaped(text)}</h3>`
const none = '<p>None.</p>'

function table(lines, heads = []) {
  if (lines.length === 0) return none
  const head =
    heads.length === 0
      ? ''
      : `<thead><tr>${heads.map((each) => `<th scope="col">${escaped(each)}</th>`).join('')}</tr></thead>`
  const body = lines.map(([first = '', ...rest]) => {
    const cells = rest.map((cell) => `<td>${escaped(cell)}</td>`).join('')
    return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`
  })
  return `<table>${head}<tbody>\n${body.join('\n')}\n</tbody></table>`
}

function counted(names) {
  const others = names.others === 0 ? [] : [['(further names)', String(names.others)]]
  return table([...names.entries().map(([name, count]) => [name, String(count)]), ...others])
}

function spend({ tokens, costs }) {
  const amounts = [...costs].map(([currency, amount]) => `${amount} ${currency}`.trim()).join(', ')
  return table([['Spent', [`${tokens} tokens`, ...(amounts === '' ? [] : [amounts])].join(', ')]])
}

function eventTable(list) {
  const heads = ['Time', 'Run', 'Event', 'Who', 'What', 'Event id']
  const lines = list.items.map(({ time, run, type, who, what, eventId }) => [time, run, type, who, what, eventId])
  return table(lines, heads) + more(list)
}

function rows(list, cells) {
  return table(list.items.map(cells)) + more(list)
}

function more({ items, total }) {
  return total > items.length ? `<p>And ${total - items.length} more, in events.jsonl.</p>` : ''
}

const ENTITIES = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Markup becomes text; what a viewer would obey or turn around (controls, bidirectional marks) is shown as its code. */
function escaped(text) {
  return text
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

// 7. Macs: HMAC-SHA-256 over `countersign/event/v1\n` and the header without its mac, under the run's own key.

/** `keyFor` a header: undefined where nothing is to be checked, null where there must be a key and is none. */
function macCheck({ runKey, keyFor = runKey && keysOf(runKey) }, found) {
  if (keyFor === undefined)
    found.notes.push('macs were not checked: they need the key of a run; what is above needs none')
  return ({ headerText, header }) => {
    const key = keyFor?.(header)
    if (key === undefined || key === null) return key === undefined
    found.macs += 1
    const unsealed = headerText.replace(`,"mac":"${header.mac}"`, '')
    const computed = crypto.createHmac('sha256', key).update(`countersign/event/v1\n${unsealed}`).digest()
    return computed.toString('base64url') === header.mac
  }
}

function keysOf({ stream, keys }) {
  const secrets = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key, 'base64url')]))
  return (header) => (header.stream === stream ? (secrets.get(header.kid) ?? null) : undefined)
}

// 10. The answer to an auditors' question: every row is made again from the events, and nothing else is a row.

const CLAIM = 'ToolCallClaimed'
/** Types that name a call by its id alone: by whom and with what tool it was made, its claim says. */
const OF_CALLS = [
  ...['ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'],
  ...['ResultNotRecorded', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt', 'ChildRunStarted'],
  ...['BudgetReserved', 'UsageRecorded'],
]
const REJECTED = 'EnvelopeRejected'
const REWOUND = 'RunRewound'
const UNDONE_NOT = ['CompensationFailed', 'CompensationInDoubt']
const UNDOINGS = [...UNDONE_NOT, 'CompensationSucceeded']
const RESOLVED = 'ToolCallResolved'
const ROLLED_BACK = 'RunCompensated'
const ENDS = { RunCompleted: 'completed', RunFailed: 'failed', RunCompensated: 'compensated' }

/** What an event says of what it records, by its type, or by a member of its body. */
const SAYS = {
  ...{ EnvelopeAccepted: 'accepted', BranchOffered: 'accepted', EnvelopeRejected: 'rejected', RunRewound: 'rewound' },
  ...{ RequestRefused: 'refused', BudgetExceeded: 'refused', ApprovalGranted: 'granted', ApprovalDenied: 'denied' },
  ...{ ApprovalWithdrawn: 'denied', ApprovalExpired: 'expired', ReservationExpired: 'expired' },
  ...{ ToolCallClaimed: 'claimed', ToolCallSucceeded: 'succeeded', ToolCallFailed: 'failed' },
  ...{ ToolCallInDoubt: 'in-doubt', CompensationInDoubt: 'in-doubt', CompensationSucceeded: 'compensated' },
  ...{ CompensationFailed: 'compensation-failed', RunCompleted: 'completed', RunFailed: 'run-failed' },
  BranchReceived: ({ status }) => (['failed', 'refused'].includes(status) ? status : undefined),
  ToolCallResolved: ({ outcome }) => (RESOLUTIONS.includes(outcome) ? outcome : undefined),
  RunCompensated: ({ status }) => (ROLLBACKS.includes(status) ? 'run-compensated' : undefined),
  UsageRecorded: ({ overshoot }) => (overshoot === undefined ? undefined : 'overshoot'),
}
const RESOLUTIONS = ['executed', 'not-executed', 'compensated']
const ROLLBACKS = ['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT']
const CODED = ['IntegrityFaultFound', 'RequestRefused']

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const onlyText = (value) => (typeof value === 'string' ? value : undefined)
/** A member's own text, or within an object of that name the member named as the fact. */
const factIn = (value, fact) => onlyText(isObject(value) ? value[fact] : value)

/** What can be asked of an event; `claim` is what its call's claim says. */
function factsOf({ header, data }, claim = {}) {
  const { type, time, actor, kid } = header
  const says = Object.hasOwn(SAYS, type) ? SAYS[type] : undefined
  return {
    ...{ run: runOf(header.stream), type, time, actor, kid, principal: header.principal ?? actor },
    agent: factIn(data.agent, 'agent') ?? claim.agent,
    tool: factIn(data.tool, 'tool') ?? claim.tool,
    call: factIn(data.callId, 'call'),
    approval: factIn(data.approvalId, 'approval'),
    reservation: factIn(data.reservationId, 'reservation'),
    compensates: factIn(data.compensates, 'compensates'),
    provider: factIn(data.provider, 'provider') ?? factIn(data.usage, 'provider'),
    model: factIn(data.model, 'model') ?? factIn(data.usage, 'model'),
    verdict: typeof says === 'function' ? says(data) : says,
    rules: rulesIn(type, data).map((rule) => rule.replaceAll('\n', ' ')),
  }
}

function rulesIn(type, { code, findings }) {
  if (type === 'BudgetExceeded') return ['budget-exceeded']
  if (CODED.includes(type)) return [onlyText(code) ?? '']
  return Array.isArray(findings)
    ? [...new Set(findings.flatMap((each) => (isObject(each) ? (onlyText(each.rule) ?? []) : [])))]
    : []
}

/** Members of a filter that are compared as they are. */
const COMPARED = 'run actor principal kid agent tool call approval provider model verdict'.split(' ')

/** Whether an event fits a filter, but for its words. */
function fitsFilter(facts, filter) {
  const { types, rule, ruleContains, contains, since, until } = filter
  return (
    COMPARED.every((name) => filter[name] === undefined || filter[name] === facts[name]) &&
    PART_FIELDS.every((name) => hasPart(facts[name], filter[`${name}Contains`])) &&
    (contains === undefined || PART_FIELDS.some((name) => hasPart(facts[name], contains))) &&
    (ruleContains === undefined || facts.rules.some((each) => hasPart(each, ruleContains))) &&
    (types === undefined || types.includes(facts.type)) &&
    (rule === undefined || facts.rules.includes(rule)) &&
    (since === undefined || facts.time >= since) &&
    (until === undefined || facts.time < until)
  )
}

/** An event as an answer lists it. */
function listedRow({ header, data }, leaf, facts) {
  const { run, type, time, actor, kid, principal: _, ...said } = facts
  const { stream, revision, id, principal, via, clock } = header
  return {
    ...{ leaf, run, revision, type, time, actor, kid, ...said },
    ...(run === undefined && { stream }),
    ...{ event: id, principal, via, clock, digest: hexDigest(leafHash(JSON.stringify(header))) },
    detail: detailOf(data),
  }
}

const DETAIL_MAX_CHARS = 512
/** What agents and tools wrote stands in events.jsonl. */
const CONTENT = [
  ...['payload', 'args', 'result', 'input', 'output', 'context', 'restored', 'manifest', 'policy', 'evidence'],
  ...['note', 'signature', 'entries', 'snapshot'],
]

function detailOf(data) {
  const shownOf = ([name, value]) => {
    if (name === 'v') return []
    if (Array.isArray(value) && value.some(isObject)) return [[name, value.length]]
    return !CONTENT.includes(name) && JSON.stringify(value).length <= DETAIL_MAX_CHARS ? [[name, value]] : []
  }
  return Object.fromEntries(Object.entries(data).flatMap(shownOf))
}

/** What claims say of calls, in a bounded number of bytes: names of agents and tools are few, and stand for themselves by number. */
class Claims {
  #calls = new NameTable(64 * MIB)
  #names = ['']
  #numbers = new Map()

  take({ header, data }) {
    if (header.type !== CLAIM || onlyText(data.callId) === undefined) return
    const number = (name) => (name === undefined ? 0 : this.#numberOf(name))
    const [agent, tool] = [number(factIn(data.agent, 'agent')), number(factIn(data.tool, 'tool'))]
    this.#calls.set(callName(header, data), agent + 1, tool)
    if (!this.#calls.isWhole || this.#names.length > CLAIM_NAMES_MAX) throw new Stop('UNVERIFIABLE', 'too-large', LARGE)
  }

  of({ header, data }) {
    if (header.type === CLAIM || onlyText(data.callId) === undefined) return {}
    const [agent, tool] = this.#calls.get(callName(header, data)) ?? [1, 0]
    return { agent: this.#names[agent - 1] || undefined, tool: this.#names[tool] || undefined }
  }

  #numberOf(name) {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#names.push(name) - 1)
    return this.#names.length - 1
  }
}

const CLAIM_NAMES_MAX = 100_000
const LARGE =
  'the answer leans on more calls than can be remembered at once: ask of one run, or for types that name no call'
const callName = ({ stream }, { callId }) => `${callId} ${stream}`

/** Rows that are events, each by itself. */
class EventRows {
  #filter
  #phrases
  #claims = new Claims()
  #isClocked
  #hasRewind
  /** Rows behind one whose next event of its run has not come yet. */
  #waiting = []

  constructor({ filter }, { fixed = {}, clocked = false, rewinds = false }) {
    const { text, ...rest } = filter
    this.#filter = { ...rest, ...fixed }
    this.#phrases = text === undefined ? undefined : phrasesOf(text)
    this.#isClocked = clocked
    this.#hasRewind = rewinds
  }

  rows(event, leaf) {
    this.#settle(event)
    if (event.data !== undefined) {
      this.#claims.take(event)
      const facts = factsOf(event, this.#claims.of(event))
      if (this.#isAnswer(event, facts)) this.#waiting.push(this.#rowOf(event, leaf, facts))
    }
    return this.#ready()
  }

  /** What a row waits for may come behind the last event of the answer. */
  rowsBeyond(event) {
    this.#settle(event)
    return this.#ready()
  }

  #ready() {
    const ready = this.#waiting.findIndex(({ next }) => next !== undefined)
    return this.#waiting.splice(0, ready < 0 ? this.#waiting.length : ready).map(({ row }) => row)
  }

  rest() {
    return this.#waiting.map(({ row }) => row)
  }

  #isAnswer({ header, data }, facts) {
    if (!fitsFilter(facts, this.#filter) || (this.#isClocked && header.clock === undefined)) return false
    return this.#phrases === undefined || (isSearched(header) && hasPhrases(this.#phrases, data))
  }

  #rowOf(event, leaf, facts) {
    const row = listedRow(event, leaf, facts)
    if (!this.#hasRewind) return { row }
    const { stream, revision, type } = event.header
    return { row: { ...row, rewind: null }, ...(type === REJECTED && { next: { stream, revision: revision + 1 } }) }
  }

  /** What the run's event after a rejection is: it stands right behind, or, where stores interleave, a little later. */
  #settle({ header, data }) {
    const { stream, revision, type, id } = header
    const rejected = this.#waiting.find(({ next }) => next?.stream === stream && next.revision === revision)
    if (rejected === undefined) return
    rejected.next = undefined
    if (type !== REWOUND || data === undefined) return
    const { fromStep = 0, toStep = 0, snapshot = 0 } = data
    rejected.row.rewind = { revision, event: id, fromStep, toStep, snapshot }
  }
}

/** Rows that are events which nothing ended: known once all events were taken, in passes of bounded memory. */
class OpenRows {
  #kind
  #filter
  #claims = new Claims()
  #gathering = new Claims()
  #table = new NameTable(16 * MIB)
  /** Leaf of what is open; whether its end is in doubt. */
  #open = new Map()

  constructor({ filter }, kind) {
    this.#kind = kind
    this.#filter = filter
  }

  gather(event, leaf) {
    const { header, data } = event
    if (data === undefined) return
    const { begins, ends, doubts, member } = this.#kind
    this.#gathering.take(event)
    const name = `${data[member]} ${header.stream}`
    if (header.type === begins) {
      const fits = fitsFilter(factsOf(event, this.#gathering.of(event)), this.#filter)
      this.#table.set(name, leaf + 1, fits ? 1 : 0)
    } else if (ends.includes(header.type)) this.#table.set(name, 0, 0)
    else if (doubts.includes(header.type)) {
      const [begun, flags] = this.#table.get(name) ?? [0, 0]
      if (begun !== 0) this.#table.set(name, begun, flags % 2 === 1 ? 3 : 2)
    }
  }

  nextPass() {
    for (const [begun, flags] of this.#table.entries()) if (flags % 2 === 1) this.#open.set(begun - 1, flags === 3)
    this.#gathering = new Claims()
    return this.#table.nextPass()
  }

  rows(event, leaf) {
    if (event.data === undefined) return []
    this.#claims.take(event)
    const isDoubted = this.#open.get(leaf)
    if (isDoubted === undefined) return []
    const status = this.#kind.words[isDoubted ? 1 : 0]
    return [{ ...listedRow(event, leaf, factsOf(event, this.#claims.of(event))), status }]
  }

  rest() {
    return []
  }
}

/** Compensations that failed or are in doubt, and that no later one of the same call, and nobody's word on it, has settled. */
class UndoneRows {
  #filter
  #claims = new Claims()
  #gathering = new Claims()
  /** Leaf of the last one, by the call that was to be undone and by the call that was to undo it: open is what both have. */
  #byUndone = new NameTable(16 * MIB)
  #byCall = new NameTable(16 * MIB)
  #found = { undone: new Set(), call: new Set() }

  constructor({ filter }) {
    this.#filter = filter
  }

  gather(event, leaf) {
    const { header, data } = event
    if (data === undefined) return
    this.#gathering.take(event)
    const named = (id) => `${id} ${header.stream}`
    if (UNDOINGS.includes(header.type)) {
      const isOpen = UNDONE_NOT.includes(header.type)
      const fits = isOpen && fitsFilter(factsOf(event, this.#gathering.of(event)), this.#filter)
      this.#byUndone.set(named(data.compensates), isOpen ? leaf + 1 : 0, fits ? 1 : 0)
      this.#byCall.set(named(data.callId), isOpen ? leaf + 1 : 0, fits ? 1 : 0)
    } else if (header.type === RESOLVED) {
      this.#byUndone.set(named(data.callId), 0, 0)
      this.#byCall.set(named(data.callId), 0, 0)
    }
  }

  nextPass() {
    const { undone, call } = this.#found
    for (const [leaf, fits] of this.#byUndone.entries()) if (fits === 1) undone.add(leaf - 1)
    for (const [leaf, fits] of this.#byCall.entries()) if (fits === 1) call.add(leaf - 1)
    this.#gathering = new Claims()
    const unfinished = [this.#byUndone.nextPass(), this.#byCall.nextPass()]
    return unfinished.includes(true)
  }

  rows(event, leaf) {
    if (event.data === undefined) return []
    this.#claims.take(event)
    const isOpen = this.#found.undone.has(leaf) && this.#found.call.has(leaf)
    return isOpen ? [listedRow(event, leaf, factsOf(event, this.#claims.of(event)))] : []
  }

  rest() {
    return []
  }
}

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Rows that are runs: headers say all of it, but for how a rollback ended. */
class RunRows {
  #question
  #kind
  #runs = new Map()

  constructor(question, kind) {
    this.#question = question
    this.#kind = kind
  }

  gather({ header: { stream, type, time, revision }, data }) {
    const name = runOf(stream)
    const { run, runContains, since, until } = this.#question.filter
    if (name === undefined || (run !== undefined && name !== run) || !hasPart(name, runContains)) return
    const isWithin = (since === undefined || time >= since) && (until === undefined || time < until)
    if (revision === 0 && isWithin) this.#runs.set(name, { started: time, last: time, events: 0, rejections: 0 })
    const found = this.#runs.get(name)
    if (found === undefined) return
    if (this.#runs.size > RUNS_MAX) throw new Stop('UNVERIFIABLE', 'too-large', TOO_MANY_RUNS)
    if (time > found.last) found.last = time
    found.events += 1
    found.lastRevision = revision
    if (type === REJECTED) found.rejections += 1
    if (!Object.hasOwn(ENDS, type)) return
    found.end = ENDS[type]
    found.compensation = type === ROLLED_BACK ? ROLLBACKS.find((each) => each === data?.status) : undefined
  }

  nextPass() {
    return false
  }

  rows() {
    return []
  }

  *rest() {
    const { seed } = this.#question
    const names = [...this.#runs.keys()].filter((run) => !this.#kind.isOpen || this.#runs.get(run).end === undefined)
    const sorted =
      seed === undefined
        ? names.sort(byBytes).map((run) => [run])
        : names.map((run) => [run, sampleRank(seed, run)]).sort(([, a], [, b]) => (a < b ? -1 : 1))
    for (const [run, rank] of sorted) {
      const { started, last, events, lastRevision, end = 'open', compensation, rejections } = this.#runs.get(run)
      const count = { events, firstRevision: 0, lastRevision, missingCount: lastRevision + 1 - events, missing: [] }
      yield { run, started, last, ...count, status: end, compensation, rejections, ...(rank && { rank, seed }) }
    }
  }
}

const RUNS_MAX = 200_000
const TOO_MANY_RUNS = `a bundle answers for at most ${RUNS_MAX} runs: narrow the question with since and until`
const sampleRank = (seed, run) => sha256(`countersign/sample/v1\n${seed}\n${run}`).toString('hex')

/** Rows that are reads and exports, as the ledger's own events list them. */
class AccessRows {
  #filter
  #isVerdicts

  constructor({ filter }, { verdicts = false }) {
    this.#filter = filter
    this.#isVerdicts = verdicts
  }

  rows({ header, data }, leaf) {
    if (data === undefined) return []
    const { actor, actorContains, run, runContains } = this.#filter
    const { id, type, time, principal } = header
    const { v: _, ...rest } = data
    const read = {
      at: time,
      actor: header.actor,
      ...(principal !== undefined && { principal }),
      query: 'export',
      ...rest,
    }
    return (type === 'AccessRecorded' && Array.isArray(data.entries) ? data.entries : [read])
      .filter((each) => actor === undefined || each.actor === actor)
      .filter((each) => run === undefined || each.run === run)
      .filter((each) => hasPart(each.actor, actorContains) && hasPart(each.run, runContains))
      .filter((each) => !this.#isVerdicts || each.verdict !== undefined)
      .map((each) => ({ ...each, leaf, event: id, type }))
  }

  rest() {
    return []
  }
}

/** Rows that are sums of what the events of runs were charged with. */
class SpendRows {
  #question
  #tenant
  #states = new Map()
  #sums = new Map()

  constructor(question, _, tenant) {
    this.#question = question
    this.#tenant = tenant
  }

  gather(event) {
    if (event.data === undefined || runOf(event.header.stream) === undefined) return
    const { stream } = event.header
    const state = this.#states.get(stream) ?? { currency: undefined, callers: new Set(), held: new Map() }
    this.#states.set(stream, state)
    for (const charge of chargesOf(state, event)) this.#add(event, charge, state.currency)
    if (Math.max(this.#states.size, this.#sums.size) > RUNS_MAX || state.held.size + state.callers.size > HELD_MAX)
      throw new Stop('UNVERIFIABLE', 'too-large', TOO_MANY_RUNS)
  }

  nextPass() {
    return false
  }

  rows() {
    return []
  }

  *rest() {
    const { by = 'run' } = this.#question
    const order = (a, b) => byBytes(a.key, b.key) || byBytes(a.currency, b.currency)
    for (const { key, tokens, cost, currency } of [...this.#sums.values()].sort(order))
      yield { key, by, tokens, cost, currency: currency === '' ? null : currency }
  }

  #add(event, { agent, tokens, cost, provider, model }, currency = '') {
    const { run, since, until, actor, principal, ...said } = this.#question.filter
    const facts = { ...factsOf(event), agent, provider, model }
    if (!fitsFilter(facts, { run, since, until, actor, principal, ...said })) return
    const { time } = event.header
    const tenant = this.#tenant
    const keys = { run: facts.run, agent, model: model ?? '', day: time.slice(0, 10), month: time.slice(0, 7), tenant }
    const key = keys[this.#question.by ?? 'run']
    const name = JSON.stringify([key, currency])
    const sum = this.#sums.get(name) ?? { key, currency, tokens: 0, cost: '0' }
    this.#sums.set(name, { ...sum, tokens: sum.tokens + tokens, cost: addMoney(sum.cost, cost) })
  }
}

/** Reservations of one run that are not settled, and agents with a model call since their last envelope. */
const HELD_MAX = 100_000
const negative = (amount) => (amount.startsWith('-') ? amount.slice(1) : nanoOf(amount) === 0n ? '0' : `-${amount}`)

/** What an event adds to the bill of its run; an estimate for an expired reservation is taken back when it is settled after all. */
function chargesOf(state, { header: { type }, data }) {
  const { agent = '', tokens, reservationId, usage = {} } = data
  const noteCurrency = (currency) => {
    state.currency ??= currency
  }
  const held = state.held.get(reservationId)
  switch (type) {
    case 'RunStarted':
      noteCurrency(data.budget?.cost?.currency)
      return []
    case 'EnvelopeAccepted':
    case REJECTED:
      return envelopeCharge(state, data)
    case 'BranchOffered':
    case 'BranchReceived':
      return data.report === undefined ? [] : envelopeCharge(state, data)
    case CLAIM:
      if (data.phase === 'model') state.callers.add(agent)
      return []
    case 'BudgetReserved':
      noteCurrency(data.currency)
      state.held.set(reservationId, { agent, tokens, cost: data.cost, provider: data.provider, model: data.model })
      return []
    case 'BudgetReleased':
      if (held?.isExpired === undefined) state.held.delete(reservationId)
      return []
    case 'ReservationExpired':
      if (held === undefined || held.isExpired) return []
      held.isExpired = true
      return [held]
    case 'UsageRecorded': {
      noteCurrency(usage.currency)
      if (reservationId !== undefined) state.held.delete(reservationId)
      const { provider = held?.provider, model = held?.model } = usage
      const charge = { agent, tokens: usage.tokens, cost: usage.cost ?? '0', provider, model }
      return held?.isExpired ? [{ ...held, tokens: -held.tokens, cost: negative(held.cost) }, charge] : [charge]
    }
    default:
      return []
  }
}

function envelopeCharge(state, { agent, tokens }) {
  const isCharged = state.callers.has(agent) || state.callers.has('')
  state.callers.delete(agent)
  state.callers.delete('')
  return tokens === undefined || tokens === 0 || isCharged ? [] : [{ agent, tokens, cost: '0' }]
}

// Words: lower case, without accents and other forms of a character; those that stand together stand in one text.

const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}])+`, 'gu')
const IDENTIFIER = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
const wordsOf = (text) =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .match(WORD) ?? []
/** Bodies of the ledger's own events are not searched, nor is what a snapshot repeats. */
const isSearched = ({ stream, type }) => runOf(stream) !== undefined && type !== 'SnapshotTaken'

function phrasesOf(text) {
  const parts = [...text.matchAll(/"([^"]*)"?|[^\s"]+/g)].map(([whole, quoted]) => wordsOf(quoted ?? whole))
  return parts.filter((words) => words.length > 0)
}

function hasPhrases(phrases, data) {
  const texts = textsOf(data, true).map((text) => ` ${wordsOf(text).join(' ')} `)
  return phrases.every((words) => texts.some((text) => text.includes(` ${words.join(' ')} `)))
}

function textsOf(value, isBody = false) {
  if (typeof value === 'number') return [String(value)]
  if (typeof value === 'string') return IDENTIFIER.test(value) ? [] : [value]
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each))
  if (!isObject(value)) return []
  const isRead = ([name]) => name !== '$sealed' && name !== 'signature' && !(isBody && name === 'snapshot')
  return Object.entries(value)
    .filter(isRead)
    .flatMap(([, each]) => textsOf(each))
}

const [BY_RUN, BY_TYPE, BY_WHO, BY_CALL] = [
  ['run', 'runContains'],
  ['types'],
  ['actor', 'actorContains', 'principal', 'principalContains', 'agent', 'agentContains', 'contains'],
  ['tool', 'toolContains', 'call', 'approval'],
]
const [BY_RULE, BY_MODEL, BY_TIME] = [
  ['rule', 'ruleContains'],
  ['provider', 'providerContains', 'model', 'modelContains'],
  ['since', 'until'],
]
const EVERY = [
  ...[...BY_RUN, ...BY_TYPE, ...BY_WHO, ...BY_CALL, ...BY_RULE, 'verdict', ...BY_MODEL, 'kid', ...BY_TIME, 'text'],
]
const RESERVED = [CLAIM, 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired']
const CHARGING = ['RunStarted', 'EnvelopeAccepted', REJECTED, 'BranchOffered', 'BranchReceived', ...RESERVED]
const CALL_ENDS = ['ToolCallSucceeded', 'ToolCallFailed', RESOLVED, 'CompensationSucceeded', 'CompensationFailed']
const OPEN_CALLS = {
  ...{ begins: CLAIM, member: 'callId', words: ['claimed', 'in-doubt'] },
  ...{ ends: CALL_ENDS, doubts: ['ToolCallInDoubt', 'CompensationInDoubt'] },
}
const OPEN_RESERVATIONS = {
  ...{ begins: 'BudgetReserved', member: 'reservationId', words: ['open', 'expired'] },
  ...{ ends: ['UsageRecorded', 'BudgetReleased'], doubts: ['ReservationExpired'] },
}

/**
 * The questions whose answer follows from a tenant's log: the filters each takes, the events that its rows are made of (`of`; absent: by the
 * filter), and how.
 */
const QUESTIONS = {
  events: { takes: EVERY, Rows: EventRows },
  search: { takes: EVERY, needs: 'text', Rows: EventRows },
  refusals: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ fixed: { types: ['RequestRefused', 'BudgetExceeded'] }, Rows: EventRows },
  },
  overshoots: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME],
    ...{ fixed: { types: ['UsageRecorded'], verdict: 'overshoot' }, Rows: EventRows },
  },
  'clock-regressions': {
    takes: [...BY_RUN, ...BY_TYPE, ...BY_WHO, 'kid', ...BY_TIME],
    ...{ clocked: true, Rows: EventRows },
  },
  rejections: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ fixed: { types: [REJECTED] }, rewinds: true, Rows: EventRows },
  },
  violations: {
    takes: [...BY_RUN, ...BY_WHO, 'kid', ...BY_TIME],
    ...{ fixed: { types: [REJECTED, 'EnvelopeAccepted'], rule: 'manifest-violation' }, rewinds: true, Rows: EventRows },
  },
  'open-calls': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_CALL, 'kid', ...BY_TIME],
    ...{ of: [CLAIM, ...CALL_ENDS, ...OPEN_CALLS.doubts], ...OPEN_CALLS, Rows: OpenRows },
  },
  'open-reservations': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME],
    ...{ of: RESERVED, ...OPEN_RESERVATIONS, Rows: OpenRows },
  },
  'open-compensations': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_CALL, ...BY_TIME],
    ...{ of: [CLAIM, ...UNDOINGS, RESOLVED], Rows: UndoneRows },
  },
  runs: { takes: [...BY_RUN, ...BY_TIME], starts: true, Rows: RunRows },
  'open-runs': { takes: [...BY_RUN, ...BY_TIME], starts: true, isOpen: true, Rows: RunRows },
  sample: { takes: BY_TIME, needs: 'seed', starts: true, Rows: RunRows },
  access: {
    takes: ['actor', 'actorContains', ...BY_RUN, ...BY_TIME],
    ...{ reads: ['AccessRecorded', 'ExportStarted', 'ExportIssued'], Rows: AccessRows },
  },
  verifications: {
    takes: ['actor', 'actorContains', ...BY_RUN, ...BY_TIME],
    ...{ reads: ['AccessRecorded'], verdicts: true, Rows: AccessRows },
  },
  spend: { takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME], of: CHARGING, Rows: SpendRows },
}
/** Those that `AuditAnswer` takes. */
export const PROVABLE_QUESTIONS = Object.keys(QUESTIONS)
const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']

const FILTER = { ...QUERY }
for (const name of ['verdict', 'rule', 'ruleContains', 'text']) FILTER[name] = maybe(isText)
const QUESTION = {
  ...{ query: isText, filter: isOf(FILTER), by: maybe((by) => SPEND_BY.includes(by)), seed: maybe(isText) },
  ...{ asOf: maybe(isCount) },
}

/** Whether a question is one of these, with filters that it takes. */
function isQuestion(question) {
  if (!isOf(QUESTION)(question) || !PROVABLE_QUESTIONS.includes(question.query)) return false
  const { query, filter, by, seed } = question
  const { takes, needs } = QUESTIONS[query]
  const isWhole = needs === undefined || ((needs === 'seed' ? seed : filter[needs]) ?? '') !== ''
  const isOwn = (query === 'spend' || by === undefined) && (query === 'sample' || seed === undefined)
  return isWhole && isOwn && Object.keys(filter).every((name) => takes.includes(name))
}

/**
 * Which events a bundle with the answer must hold, by their headers: those that can be rows, and with `also` whatever else a row or its
 * absence follows from, whoever wrote it and when.
 */
export function eventsBehind({ query, filter }) {
  const { fixed = {}, of, starts, isOpen, reads, rewinds } = QUESTIONS[query]
  const { run, runContains, actor, actorContains, principal, principalContains, kid, since, until, verdict } = filter
  if (of !== undefined) return present({ run, runContains, types: of })
  if (starts) {
    const begun = present({ run, runContains, types: ['RunStarted'], since, until })
    return isOpen ? begun : { ...begun, also: [ROLLED_BACK] }
  }
  if (reads !== undefined) return present({ types: reads, since, until })
  const types = fixed.types ?? filter.types ?? (verdict === undefined ? undefined : typesSaying(verdict))
  const who = { actor, actorContains, principal, principalContains }
  const part = present({ run, runContains, types, ...who, kid, since, until })
  const isOfCalls = types === undefined || types.some((type) => OF_CALLS.includes(type))
  const also = [...(isOfCalls ? [CLAIM] : []), ...(rewinds ? [REWOUND] : [])]
  const isAll = Object.keys(part).every((name) => name === 'run' || name === 'runContains')
  return isAll || also.length === 0 ? part : { ...part, also }
}

/** Types of which some body may say it. */
function typesSaying(verdict) {
  return Object.keys(SAYS).filter((type) => SAYS[type] === verdict || typeof SAYS[type] === 'function')
}

/** The answer to a question, made from all events of a log in their order, `data` being there where the bundle holds the event. */
export class AuditAnswer {
  #rows
  /** The answer is made from the leaves before this one. */
  #size

  constructor(question, tenant) {
    const kind = QUESTIONS[question.query]
    this.#rows = new kind.Rows(question, kind, tenant)
    this.#size = question.asOf ?? Number.POSITIVE_INFINITY
  }

  /** Every event, and again in each further pass. */
  gather(event, leaf) {
    if (leaf < this.#size) this.#rows.gather?.(event, leaf)
  }

  /** Whether all events are to be gathered once more. */
  nextPass() {
    return this.#rows.nextPass?.() ?? false
  }

  /** Every event once more, after the last pass: the rows that are now known, in the order of the answer. */
  rows(event, leaf) {
    return leaf < this.#size ? this.#rows.rows(event, leaf) : (this.#rows.rowsBeyond?.(event) ?? [])
  }

  /** The rows behind the last event. */
  rest() {
    return this.#rows.rest()
  }
}

/** The rows that these events make, each `[event, leaf]`; `again` begins with the first event once more. */
function* rowsOf(question, tenant, again) {
  const answer = new AuditAnswer(question, tenant)
  do for (const [event, leaf] of again()) answer.gather(event, leaf)
  while (answer.nextPass())
  for (const [event, leaf] of again()) yield* answer.rows(event, leaf)
  yield* answer.rest()
}

/** Every event of the log with its leaf, and with its body where the bundle holds it. */
function* eventsOfLog(bundle, { tenant, complete }) {
  const events = linesOf(bundle, 'events.jsonl', () => {})
  if (headOf(complete) !== undefined) events.next()
  let leaf = 0
  for (const line of linesOf(bundle, 'log.jsonl', () => {})) {
    const header = jsonOf(line, 'log.jsonl')
    const event = isSelected(header, tenant, complete) ? eventOf(events.next().value ?? '') : undefined
    if (event === undefined ? isSelected(header, tenant, complete) : event.headerText !== line)
      throw new Stop(
        'INCOMPLETE',
        'answer-evidence',
        'the answer cannot be checked without every event that it follows from',
      )
    yield [{ header, data: event?.data }, leaf]
    leaf += 1
  }
}

/** Each line is the row that these events make, in the order of the answer: none is changed, left out, added or moved. */
function checkAnswer(bundle, manifest, found, fail) {
  const { question, rows } = manifest.answer
  const lines = linesOf(bundle, ANSWER, fail)
  if (lines.next().value !== JSON.stringify({ answer: question }))
    fail('TAMPERED', 'answer-question', `${ANSWER} answers another question than the one that the manifest names`)
  const listed = new BoundedList()
  let wrong = 0
  for (const row of rowsOf(question, manifest.tenant, () => eventsOfLog(bundle, manifest))) {
    listed.add(row)
    const { value: line } = lines.next()
    if (line === JSON.stringify(row)) continue
    wrong += 1
    const place = `row ${listed.total} of ${ANSWER}`
    if (wrong > 1) continue
    if (line === undefined)
      fail('INCOMPLETE', 'row-missing', `${place} is missing: these events make one more, ${rowName(row)}`)
    else fail('TAMPERED', 'row', `${place} is not the one that these events make, ${rowName(row)}`)
  }
  if (lines.next().value !== undefined)
    fail('TAMPERED', 'row-foreign', `${ANSWER} has more rows than the ${listed.total} that these events make`)
  if (rows !== listed.total)
    fail('TAMPERED', 'count', `these events make ${listed.total} rows, the manifest counts ${rows}`)
  found.about.answer = { question, rows: listed.total }
  return listed
}

const rowName = ({ event, run, key, currency }) =>
  shown(
    event === undefined
      ? (run ?? [key, currency ?? ''].join(' '))
      : `${event}${run === undefined ? '' : ` of run ${run}`}`,
  )

// The command.

function main(args) {
  const text = { type: 'string' }
  const witness = { type: 'string', multiple: true }
  const more = { witness, quorum: text, json: { type: 'boolean' } }
  const options = { key: text, checkpoint: text, 'run-key': text, ...more }
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  if (positionals.length !== 1) throw new TypeError('name one bundle')
  const read = (file) => (file === undefined ? undefined : fs.readFileSync(file, 'utf8'))
  const runKey = values['run-key'] && parseJson(read(values['run-key']))
  if (!/^[1-9]\d{0,2}$/.test(values.quorum ?? '1')) throw new TypeError('--quorum takes a number from 1')
  const quorum = values.quorum === undefined ? undefined : Number(values.quorum)
  const given = { key: values.key && keyFrom(values.key), checkpoint: read(values.checkpoint), runKey }
  const found = verifyBundle(positionals[0], { ...given, witnesses: values.witness, quorum })
  const lines = values.json ? [jsonText(found)] : reportLines(found)
  process.stdout.write(`${lines.join('\n')}\n`)
  return { VERIFIED: 0, TAMPERED: 1 }[found.verdict] ?? 3
}

/** A verifier key itself, or a file that has the key of the bundle's log on one of its lines. */
function keyFrom(given) {
  if (parseKey(given) !== undefined) return given
  const keys = fs
    .readFileSync(given, 'utf8')
    .split('\n')
    .flatMap((line) => parseKey(line) ?? [])
  if (keys.length === 0) throw new TypeError('--key takes a verifier key, or a file with one a line')
  return (own) => {
    const claimed = parseKey(own)
    const ofLog = keys.filter(({ name }) => name === claimed?.name)
    return (ofLog.find(({ id }) => id === claimed?.id) ?? ofLog.at(-1))?.text
  }
}

const jsonText = (value) =>
  JSON.stringify(value).replace(HIDDEN, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )

const SHOWN_MAX = 100

/** What was found, for people. `paint` may colour a verdict. Every text out of the bundle is shown without what a terminal would obey. */
export function reportLines(found, { paint = (word) => word, keyFrom: from = '--key' } = {}) {
  const { verdict, faults, notes, events, matching, leaves, values } = found
  const rest = faults.length - SHOWN_MAX
  return [
    ...faults.slice(0, SHOWN_MAX).map((fault) => `${paint(fault.verdict)}  ${fault.code}  ${plain(fault.message)}`),
    ...(rest > 0 ? [`... and ${rest} more (--json lists up to 1000)`] : []),
    `${paint(verdict)}  ${events} events, ${matching} of them answer the query, held against ${HELD_AGAINST[found.proof]?.(leaves) ?? 'nothing'}`,
    ...(values > 0 ? [`values: ${values} that events name are here, whole, with the digests that are named`] : []),
    ...aboutLines(found, from).map(plain),
    ...notes.map((note) => `note: ${plain(note)}`),
    'not shown by this: that what was recorded is true, nor that all that happened was recorded',
  ]
}

const HELD_AGAINST = {
  log: (leaves) => `all ${leaves} of the log`,
  stream: (leaves) => `what the checkpoint of ${leaves} says of the run`,
}

/** In words what the verdict is about. */
function aboutLines({ about, witnesses, keyGiven, macs, verdict }, from) {
  if (about === undefined) return []
  const { query, tenant, log, size, root, key, ledgerId, exportedBy, time, exportId, period, kept, timestamp } = about
  const { answer } = about
  const { run, ...rest } = query
  const part = Object.keys(rest).length === 0 ? 'all events' : `the events that answer ${JSON.stringify(rest)}`
  const { actor, principal, via } = exportedBy
  const who = [
    actor,
    ...(principal === undefined ? [] : [`for ${principal}`]),
    ...(via ? [`via ${via.join(', ')}`] : []),
  ]
  const cosigned = witnesses.map(({ name, seconds }) => `${name} at ${timeText(seconds)}`)
  return [
    ...(answer === undefined ? [] : answerLines(answer, SEVERITY.indexOf(verdict) <= SEVERITY.indexOf(CONSISTENT))),
    `what: ${part} of ${run === undefined ? `tenant ${tenant}` : `run ${run} of tenant ${tenant}`}, up to the checkpoint`,
    `period: ${period === undefined ? 'no event' : `${period[0]} to ${period[1]}`}, by the clock of the ledger`,
    `log: ${log}, ${size} events, root ${root}, ledger ${ledgerId}`,
    `key: ${key}, ${keyGiven ? `yours (${from})` : 'which came with the bundle'}`,
    `witnesses: ${cosigned.length === 0 ? 'none was checked (--witness KEY)' : cosigned.join('; ')}`,
    `kept checkpoint: ${kept === undefined ? 'none was held against it (--checkpoint FILE)' : `of ${kept} events`}`,
    ...(timestamp === undefined ? [] : stampLines(timestamp)),
    `exported: ${time} by ${who.join(' ')}, export ${exportId}; that is the word of the signer`,
    ...(macs > 0 ? [`macs: ${macs} were checked`] : []),
  ]
}

/** What is wrong stands above: then nothing is said to be shown. */
function answerLines({ question, rows }, isSound) {
  const { query, filter, by, seed, asOf } = question
  const asked = [
    ...(Object.keys(filter).length === 0 ? [] : [JSON.stringify(filter)]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(seed === undefined ? [] : [`seed ${seed}`]),
    ...(asOf === undefined ? [] : [`as of the first ${asOf} events of the log`]),
  ]
  return [`answer: ${rows} rows to ${[query, ...asked].join(' ')}.${isSound ? ` ${provenOf(question)}` : ''}`]
}

function stampLines({ size, time, signedBy }) {
  const checked =
    signedBy === undefined
      ? 'the token is for that checkpoint, and the log continues it; its signature was not checked here: openssl ts -verify -data timestamp.txt -in timestamp.tsr -CAfile AUTHORITY.pem'
      : `signed by ${signedBy}, whom your authorities vouch for`
  return [`time-stamp: the first ${size} events of the log existed by ${time}; ${checked}`]
}

const timeText = (seconds) => (seconds < 8.64e12 ? new Date(seconds * 1000).toISOString() : `second ${seconds}`)

if (process.argv[1] !== undefined && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(
      `${plain(error.message)}\nusage: node verify.mjs BUNDLE.tar|FOLDER [--key KEY|FILE] [--checkpoint FILE] [--witness KEY]... [--quorum N] [--run-key FILE] [--json]\n`,
    )
    process.exitCode = 2
  }
}
