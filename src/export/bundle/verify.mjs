#!/usr/bin/env node
/**
 * Checks an evidence bundle of a Countersign ledger:
 *   node verify.mjs BUNDLE.tar|FOLDER [--key VKEY] [--checkpoint FILE] [--run-key FILE] [--json]
 *
 * Needs Node 18.3 or newer and nothing else. It only reads: no connection, no file written. What is shown, in this order:
 *   1. the archive holds plain files under known names, once each;
 *   2. the manifest was signed with the log's key (DSSE) and names the digest of every file;
 *   3. the checkpoint was signed with the same key (C2SP signed note): size and root of the log;
 *   4. log.jsonl, the headers of ALL events of the log, makes that very root (RFC 6962), each header continuing its stream;
 *   5. events.jsonl holds exactly those events of the log that it must, none left out, each with the body that was sealed;
 *   6. where a run's key was disclosed to you, the macs.
 * It cannot show that what was recorded is true, nor that all that happened was recorded. Without --key it cannot show who signed: the
 * key inside a bundle shows only that the bundle agrees with itself. Get the key, and this file, from another hand than the bundle.
 *
 * Exit code: 0 VERIFIED, 1 TAMPERED, 2 wrong use, 3 INCOMPLETE or UNVERIFIABLE.
 */
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const MANIFESTS = ['manifest.dsse.json', 'manifest.json']
const SIGNED = 'README.txt checkpoint events.jsonl jwks.json log.jsonl report.html verifier-key.txt verify.mjs'.split(
  ' ',
)
const FILES = [...SIGNED, ...MANIFESTS]
/** For other tools, each a proof of one event: log.jsonl proves them all, and the manifest has their digests. */
const PROOF_NAME = /^proofs\/[0-9a-f-]{36}\.tlog-proof$/
const PREDICATE_TYPE = 'urn:countersign:evidence-bundle:v1'
const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const MIB = 1024 * 1024
const CHUNK_BYTES = MIB / 4
const OWN_KEY = 'checked with the key inside the bundle, which shows that it agrees with itself, not who made it'
const SEVERITY = ['VERIFIED', 'UNVERIFIABLE', 'INCOMPLETE', 'TAMPERED']

/** Checks one bundle: `verdict` is the worst that was found, `faults` say what and where. Nothing that a bundle holds makes it throw. */
export function verifyBundle(path, options = {}) {
  const found = { verdict: 'VERIFIED', faults: [], notes: [], events: 0, leaves: 0, matching: 0 }
  const fail = (verdict, code, message) => {
    if (SEVERITY.indexOf(verdict) > SEVERITY.indexOf(found.verdict)) found.verdict = verdict
    if (found.faults.length < 1000) found.faults.push({ verdict, code, message })
  }
  const bundle = fs.statSync(path).isDirectory() ? openFolder(path, fail) : openTar(path, fail)
  try {
    checkBundle(bundle, options, found, fail)
  } catch (error) {
    if (error instanceof Stop) fail(error.verdict, error.code, error.message)
    else if (error instanceof TypeError)
      fail('TAMPERED', 'malformed', `a file has not the form that it must have: ${error.message}`)
    else throw error
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

function checkBundle(bundle, { key: given, checkpoint: kept, ...macKeys }, found, fail) {
  for (const name of FILES) if (!bundle.files.has(name)) fail('INCOMPLETE', 'file-missing', `${name} is missing`)
  const own = textOf(bundle, 'verifier-key.txt')
  const named = typeof given === 'function' ? given(own) : given
  const key = parseKey(named ?? own)
  if (key === undefined) throw new Stop('UNVERIFIABLE', 'key', 'what is given as a key is no verifier key')
  found.keyGiven = named !== undefined
  if (!found.keyGiven) found.notes.push(OWN_KEY)

  const manifest = checkManifest(bundle, key, fail)
  const checkpoint = openCheckpoint(textOf(bundle, 'checkpoint'), key, 'the checkpoint')
  const { size, root } = manifest.checkpoint
  if (manifest.tenant !== checkpoint.tenant || size !== checkpoint.size || root !== hexDigest(checkpoint.root))
    fail('TAMPERED', 'other-checkpoint', 'the manifest is about another checkpoint than the one that is here')
  const earlier = kept === undefined ? undefined : openCheckpoint(kept, key, 'the checkpoint that was kept')
  const log = checkLog(bundle, { manifest, checkpoint, earlier }, fail)
  found.leaves = log.size
  checkEvents(bundle, { manifest, log, macKeys }, found, fail)
  const { events, matching } = manifest.counts
  const verdict = found.events < events ? 'INCOMPLETE' : 'TAMPERED'
  if (found.events !== events) fail(verdict, 'count', `${found.events} events, of which the manifest counts ${events}`)
  else if (found.matching !== matching)
    fail('TAMPERED', 'count', `${found.matching} answers, of which it counts ${matching}`)
}

// 1. The archive: files by name, `{ size, read(position, length) }`. Nothing is unpacked.

const isKnownName = (name) => FILES.includes(name) || PROOF_NAME.test(name)
/** Names come from outside: shown without anything that a terminal would obey. */
const shown = (text) => JSON.stringify(String(text).slice(0, 100))

function fileAt(fd, start, size) {
  const read = (position, length) => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - position)))
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, start + position))
  }
  return { size, read }
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
/** As tar programs end the six digits of a checksum. */
const CHECKSUM_ENDS = new Set(['\0 ', ' \0'])

/** POSIX ustar with plain files only: links, folders, long names and extensions, of which a bundle has none, are refused. */
function openTar(path, fail) {
  const fd = fs.openSync(path, 'r')
  const bundle = { files: new Map(), open: [fd] }
  const tar = fileAt(fd, 0, fs.fstatSync(fd).size)
  for (let at = 0; ; ) {
    const header = tar.read(at, BLOCK)
    if (header.every((byte) => byte === 0)) {
      checkEnd(tar.read(at, 2 * BLOCK + 1), fail)
      return bundle
    }
    const entry = header.length < BLOCK ? undefined : entryOf(header)
    const twice = entry !== undefined && bundle.files.has(entry.name)
    if (header.length < BLOCK) fail('INCOMPLETE', 'archive-cut', 'the archive ends too early: it was cut')
    else if (twice) fail('TAMPERED', 'archive-entry', `${entry.name} is there twice: what follows is not read`)
    else if (entry === undefined)
      fail('TAMPERED', 'archive-entry', `at byte ${at} is no plain file of a bundle: what follows is not read`)
    if (entry === undefined || twice) return bundle
    const start = at + BLOCK
    at = start + Math.ceil(entry.size / BLOCK) * BLOCK
    const { size: padded, read } = fileAt(fd, start, Math.min(at, tar.size) - start)
    if (padded < at - start) fail('INCOMPLETE', 'archive-cut', `the archive was cut within ${entry.name}`)
    else if (read(entry.size, BLOCK).some((byte) => byte !== 0))
      fail('TAMPERED', 'archive-entry', `something stands behind the end of ${entry.name}`)
    bundle.files.set(entry.name, fileAt(fd, start, Math.min(entry.size, padded)))
  }
}

function entryOf(header) {
  const raw = (start, length) => header.subarray(start, start + length).toString('latin1')
  const field = (start, length) => raw(start, length).split(/[\0 ]/, 1)[0]
  const [name, octal] = [field(0, 100), field(124, 12)]
  const sum = header.reduce((all, byte, index) => all + (index >= 148 && index < 156 ? 32 : byte), 0)
  const isPlain = raw(156, 1) === '0' && raw(257, 5) === 'ustar' && field(345, 155) === '' && /^[0-7]+$/.test(octal)
  if (!isPlain || !isKnownName(name) || !CHECKSUM_ENDS.has(raw(154, 2)) || Number.parseInt(raw(148, 6), 8) !== sum)
    return undefined
  return { name, size: Number.parseInt(octal, 8) }
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

function jsonOf(text, name) {
  try {
    return JSON.parse(text)
  } catch {
    throw new Stop('TAMPERED', 'not-json', `${name} is not JSON`)
  }
}

// 2. and 3. Signatures, all Ed25519.

/** A verifier key of signed notes: `<name>+<8 hex>+base64(0x01 || 32 bytes)`. Undefined for anything else. */
function parseKey(text) {
  const [, name, id, encoded = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? []
  const typed = Buffer.from(encoded, 'base64')
  if (typed.length !== 33 || typed[0] !== 1 || sha256(`${name}\n`, typed).toString('hex').slice(0, 8) !== id)
    return undefined
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), typed.subarray(1)])
  return { name, id, key: crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

/** DSSE: what is signed is `DSSEv1 <length> <type> <length> <body>`, with which no signed note can begin. */
function checkManifest(bundle, { key, name, id }, fail) {
  const body = Buffer.from(textOf(bundle, 'manifest.json'))
  const text = textOf(bundle, 'manifest.dsse.json')
  const sig = Buffer.from(jsonOf(text, 'manifest.dsse.json').signatures[0].sig, 'base64')
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${body.length} `), body])
  const signatures = [{ keyid: `${name}+${id}`, sig: sig.toString('base64') }]
  const envelope = { payload: body.toString('base64'), payloadType: PAYLOAD_TYPE, signatures }
  if (!crypto.verify(null, signed, key, sig) || text !== `${JSON.stringify(envelope)}\n`)
    throw new Stop('TAMPERED', 'manifest-signature', `the manifest is not what the key of ${name} has signed`)

  const statement = jsonOf(body.toString(), 'the manifest')
  if (statement.predicateType !== PREDICATE_TYPE)
    throw new Stop('UNVERIFIABLE', 'manifest-type', 'this verifier does not know that kind of manifest')
  const digests = new Map(statement.subject.map(({ name: file, digest }) => [file, digest.sha256]))
  for (const [file, digest] of digests) {
    const there = bundle.files.get(file)
    if (there === undefined && !FILES.includes(file)) fail('INCOMPLETE', 'file-missing', `${shown(file)} is missing`)
    if (there !== undefined && digestOfFile(there) !== digest)
      fail('TAMPERED', 'file-digest', `${file} is not the file that the manifest names`)
  }
  for (const file of bundle.files.keys())
    if (!digests.has(file) && !MANIFESTS.includes(file))
      fail('TAMPERED', 'foreign-file', `the manifest does not name ${file}`)
  return statement.predicate
}

function digestOfFile(file) {
  const hash = crypto.createHash('sha256')
  for (let at = 0; at < file.size; at += CHUNK_BYTES) hash.update(file.read(at, CHUNK_BYTES))
  return hash.digest('hex')
}

/** A signed note: a text, an empty line, and lines of em dash, name, base64(4 bytes of key id || signature). */
function openCheckpoint(note, { name, id, key }, what) {
  const border = note.lastIndexOf('\n\n')
  const text = note.slice(0, border + 1)
  const isOurs = (line) => {
    const [, signer, encoded = ''] = /^\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    const named = signer === name && bytes.subarray(0, 4).toString('hex') === id
    return named && crypto.verify(null, Buffer.from(text), key, bytes.subarray(4))
  }
  const [origin, size, root = ''] = text.split('\n')
  if (
    border < 0 ||
    !note
      .slice(border + 2)
      .split('\n')
      .some(isOurs) ||
    origin !== name ||
    !/^(0|[1-9]\d{0,15})$/.test(size)
  )
    throw new Stop('TAMPERED', 'checkpoint', `${what} is not signed with the key of ${name}: altered, or another log's`)
  return {
    what,
    tenant: origin.slice(origin.lastIndexOf('/') + 1),
    size: Number(size),
    root: Buffer.from(root, 'base64'),
  }
}

// 4. The log: RFC 6962 section 2.1.

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), crypto.createHash('sha256')).digest()
const leafHash = (entry) => sha256(Buffer.of(0), entry)
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right)
const hexDigest = (hash) => `sha256:${hash.toString('hex')}`

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
  const tree = createTree()
  const [streams, wanted, roots] = [new Map(), new Map(), new Map([[0, tree.root()]])]
  for (const line of linesOf(bundle, 'log.jsonl', fail)) {
    const leaf = leafHash(line)
    const header = jsonOf(line, `line ${tree.size + 1} of log.jsonl`)
    checkChain(header, hexDigest(leaf), streams, fail)
    if (isSelected(header, manifest.tenant, manifest.complete)) wanted.set(leaf.toString('latin1'), tree.size)
    tree.add(leaf)
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
  return { size, wanted }
}

function checkChain(header, digest, streams, fail) {
  const { stream, revision, prev, type } = header
  const last = streams.get(stream) ?? { revision: -1 }
  if (header.v !== 1)
    fail('UNVERIFIABLE', 'unknown-version', `${place(header)} has a header of a version that is not known here`)
  if (revision !== last.revision + 1 || prev !== last.digest)
    fail('TAMPERED', 'chain', `${place(header)} does not continue the event before it`)
  if (last.type === 'RunKeyDisclosed')
    fail('TAMPERED', 'after-disclosure', `${place(header)} stands after the run's keys were disclosed`)
  streams.set(stream, { revision, digest, type })
}

const place = ({ stream, revision, type }) => `${shown(stream)} @ ${Number(revision)} (${shown(type)})`

/** Whether a header fits a query, as far as headers answer it. */
function isSelected(header, tenant, { run, types, actor, principal, kid, since, until }) {
  const wanted = (asked, is) => asked === undefined || asked === is
  return (
    wanted(run === undefined ? undefined : `run-${tenant}.${run}`, header.stream) &&
    (types === undefined || types.includes(header.type)) &&
    wanted(actor, header.actor) &&
    wanted(principal, header.principal ?? header.actor) &&
    wanted(kid, header.kid) &&
    (since === undefined || header.time >= since) &&
    (until === undefined || header.time < until)
  )
}

// 5. The events: each is `{"header":…,"salt":"…","data":…}` on a line; the last line is a trailer.

function checkEvents(bundle, { manifest, log, macKeys }, found, fail) {
  const [isAnswer, macFits] = [queryOf(manifest), macCheck(macKeys, found)]
  let [before, isWhole] = [-1, false]
  for (const line of linesOf(bundle, 'events.jsonl', fail)) {
    if (isWhole) fail('TAMPERED', 'after-trailer', 'events.jsonl goes on after its trailer')
    isWhole ||= line.startsWith('{"trailer":')
    if (isWhole || (found.events === 0 && line.startsWith('{"filter":'))) continue
    found.events += 1
    const event = eventOf(line)
    if (event === undefined) {
      fail('TAMPERED', 'line', `line ${found.events} of events.jsonl is no event`)
      continue
    }
    const { header, headerText, salt, dataText } = event
    const leaf = leafHash(headerText).toString('latin1')
    const index = log.wanted.get(leaf)
    if (index === undefined) fail('TAMPERED', 'not-in-log', `${place(header)} is not in the log, or is there twice`)
    else if (index < before) fail('TAMPERED', 'order', `${place(header)} stands out of order`)
    log.wanted.delete(leaf)
    before = index ?? before
    if (hexDigest(sha256(Buffer.from(salt, 'base64url'), dataText)) !== header.dataDigest)
      fail('TAMPERED', 'data-digest', `the body of ${place(header)} is not the one that was sealed`)
    if (!macFits(event)) fail('TAMPERED', 'mac', `the mac of ${place(header)} does not fit`)
    if (isAnswer(event)) found.matching += 1
  }
  if (!isWhole) fail('INCOMPLETE', 'no-trailer', 'events.jsonl has no trailer: it was cut')
  nameMissing(bundle, new Set(log.wanted.values()), fail)
}

function nameMissing(bundle, missing, fail) {
  if (missing.size > 100)
    fail('INCOMPLETE', 'event-missing', `${missing.size} events are not in events.jsonl; the first of them:`)
  let [index, named] = [0, 0]
  for (const line of missing.size === 0 ? [] : linesOf(bundle, 'log.jsonl', fail)) {
    if (missing.has(index) && named < 100)
      fail('INCOMPLETE', 'event-missing', `${place(JSON.parse(line))} is not in events.jsonl`)
    if (missing.has(index)) named += 1
    index += 1
  }
}

/** Cut apart as text: digests are over the very bytes that stand there. No JSON string holds the border, since its quotes are escaped. */
function eventOf(line) {
  const [, headerText, salt, dataText] =
    /^\{"header":(\{.*?\}),"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}$/.exec(line) ?? []
  try {
    return { headerText, dataText, salt, header: JSON.parse(headerText), data: JSON.parse(dataText) }
  } catch {
    return undefined
  }
}

/** The whole query, bodies included. What a call's later events do not say themselves, its claim has said. */
function queryOf({ query, tenant }) {
  const claims = new Map()
  return ({ header, data }) => {
    if (header.type === 'ToolCallClaimed')
      claims.set(`${data.callId} ${header.stream}`, { agent: data.agent, tool: data.tool })
    const claim = claims.get(`${data.callId} ${header.stream}`) ?? {}
    const said = {
      agent: data.agent ?? claim.agent,
      tool: data.tool ?? claim.tool,
      call: data.callId,
      provider: data.provider ?? data.usage?.provider,
      model: data.model ?? data.usage?.model,
    }
    const isSaid = (name) => query[name] === undefined || query[name] === said[name]
    return isSelected(header, tenant, query) && Object.keys(said).every(isSaid)
  }
}

// 6. Macs: HMAC-SHA-256 over `countersign/event/v1\n` and the header without its mac, under the run's own key.

/** `keyFor` a header: undefined where nothing is to be checked, null where there must be a key and is none. */
function macCheck({ runKey, keyFor = runKey && keysOf(runKey) }, found) {
  if (keyFor === undefined)
    found.notes.push('macs were not checked: they need the key of a run; what is above needs none')
  return ({ headerText, header }) => {
    const key = keyFor?.(header)
    if (key === undefined || key === null) return key === undefined
    const unsealed = headerText.replace(`,"mac":"${header.mac}"`, '')
    const computed = crypto.createHmac('sha256', key).update(`countersign/event/v1\n${unsealed}`).digest()
    return computed.toString('base64url') === header.mac
  }
}

function keysOf({ stream, keys }) {
  const secrets = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key, 'base64url')]))
  return (header) => (header.stream === stream ? (secrets.get(header.kid) ?? null) : undefined)
}

// The command.

function main(args) {
  const text = { type: 'string' }
  const options = { key: text, checkpoint: text, 'run-key': text, json: { type: 'boolean' } }
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  if (positionals.length !== 1) throw new TypeError('name one bundle')
  const read = (file) => (file === undefined ? undefined : fs.readFileSync(file, 'utf8'))
  const runKey = values['run-key'] && JSON.parse(read(values['run-key']))
  const found = verifyBundle(positionals[0], { key: values.key, checkpoint: read(values.checkpoint), runKey })
  process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : `${reportLines(found).join('\n')}\n`)
  return { VERIFIED: 0, TAMPERED: 1 }[found.verdict] ?? 3
}

function reportLines({ verdict, faults, notes, events, matching, leaves, keyGiven }) {
  const word = verdict === 'VERIFIED' && !keyGiven ? 'VERIFIED in itself' : verdict
  return [
    ...faults.slice(0, 100).map((fault) => `${fault.verdict}  ${fault.code}  ${fault.message}`),
    ...(faults.length > 100 ? [`... and ${faults.length - 100} more (--json lists up to 1000)`] : []),
    `${word}  ${events} events, ${matching} of them answer the query, held against all ${leaves} of the log`,
    ...notes.map((note) => `note: ${note}`),
    'not shown by this: that what was recorded is true, nor that all that happened was recorded',
  ]
}

if (process.argv[1] !== undefined && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(
      `${error.message}\nusage: node verify.mjs BUNDLE.tar|FOLDER [--key VKEY] [--checkpoint FILE] [--run-key FILE] [--json]\n`,
    )
    process.exitCode = 2
  }
}
