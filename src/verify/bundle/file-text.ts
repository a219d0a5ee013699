/** @module What files of a bundle hold: bytes, lines, JSON. */
import * as crypto from 'node:crypto'
import { type JsonObject, parseJson } from '../../../schemas/json.ts'
import { type Fail, Stop } from './verdict.ts'

/** A file of a bundle, of which any part can be read. */
export interface HeldFile {
  readonly size: number
  read(position: number, length: number): Buffer
}

export interface Bundle {
  readonly files: Map<string, HeldFile>
  /** Descriptors that are to be closed. */
  readonly open: number[]
}

export const MIB = 1024 * 1024
const CHUNK_BYTES = MIB / 4

/** The lines of a file, without their line feeds. Bytes after the last line feed are a line that was cut. */
export function* linesOf(bundle: Bundle, name: string, fail: Fail): Generator<string, void> {
  const file = fileOf(bundle, name)
  let rest: Buffer = Buffer.alloc(0)
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

export function fileOf(bundle: Bundle, name: string): HeldFile {
  const file = bundle.files.get(name)
  if (file === undefined) throw new Stop('INCOMPLETE', 'file-missing', `without ${name} the rest cannot be checked`)
  return file
}

export function textOf(bundle: Bundle, name: string): string {
  const file = fileOf(bundle, name)
  if (file.size > 64 * MIB) throw new Stop('TAMPERED', 'file-too-large', `${name} is larger than such a file can be`)
  return decode(file.read(0, file.size), name)
}

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Stop('TAMPERED', 'not-utf8', `${name} is not UTF-8`)
  }
}

/** `Value` is what the caller takes it for: what is something else makes a check fail, or throws. */
export function jsonOf<Value = JsonObject>(text: string, name: string): Value {
  try {
    return parseJson<Value>(text)
  } catch {
    throw new Stop('TAMPERED', 'not-json', `${name} is not JSON`)
  }
}

export function digestOfFile(file: HeldFile): string {
  const hash = crypto.createHash('sha256')
  for (let at = 0; at < file.size; at += CHUNK_BYTES) hash.update(file.read(at, CHUNK_BYTES))
  return hash.digest('hex')
}
