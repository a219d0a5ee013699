/** @module The archive: files by name, `{ size, read(position, length) }`. Nothing is unpacked. */

import * as fs from 'node:fs'
import { join } from 'node:path'
import { isKnownName } from './bundle-files.ts'
import type { Bundle, HeldFile } from './file-text.ts'
import { shown } from './shown-text.ts'
import type { Fail } from './verdict.ts'

export function openBundle(source: string | Uint8Array, fail: Fail): Bundle {
  if (typeof source !== 'string') return openTar(bytesAt(source), [], fail)
  if (fs.statSync(source).isDirectory()) return openFolder(source, fail)
  const fd = fs.openSync(source, 'r')
  return openTar(fileAt(fd, 0, fs.fstatSync(fd).size), [fd], fail)
}

function fileAt(fd: number, start: number, size: number): HeldFile {
  const read = (position: number, length: number): Buffer => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - position)))
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, start + position))
  }
  return { size, read }
}

function bytesAt(bytes: Uint8Array): HeldFile {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return { size: buffer.length, read: (position, length) => buffer.subarray(position, position + length) }
}

/** A part of a file, as a file. */
function partAt(file: HeldFile, start: number, size: number): HeldFile {
  return {
    size,
    read: (position, length) => file.read(start + position, Math.min(length, Math.max(0, size - position))),
  }
}

function openFolder(path: string, fail: Fail): Bundle {
  const bundle: Bundle = { files: new Map(), open: [] }
  const isFolder = (name: string) => name === 'proofs' && fs.lstatSync(join(path, name)).isDirectory()
  const within = (name: string) =>
    isFolder(name) ? fs.readdirSync(join(path, name)).map((each) => `${name}/${each}`) : [name]
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

/**
 * POSIX ustar with plain files only, each header the very one that a bundle has, names in order. So there is no room for links, long names,
 * extensions, a second file of a name, or anything that another program might read otherwise.
 */
function openTar(tar: HeldFile, open: number[], fail: Fail): Bundle {
  const bundle: Bundle = { files: new Map(), open }
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

function checkEnd(bytes: Buffer, fail: Fail): void {
  if (bytes.length < 2 * BLOCK) fail('INCOMPLETE', 'archive-cut', 'the archive ends too early: it was cut')
  else if (bytes.length > 2 * BLOCK || bytes.some((byte) => byte !== 0))
    fail('TAMPERED', 'archive-end', 'something stands behind the end of the archive')
}

const BLOCK = 512

/** The fields of a header, in their order: where each begins, and what it is called. */
const FIELDS: readonly (readonly [begin: number, name: string])[] = [
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

interface Entry {
  readonly name: string
  readonly size: number
  readonly wrong?: never
}

interface Wrong {
  readonly wrong: string
}

/** Name and size of a file, or what is wrong with its header. */
function entryOf(header: Buffer, last: string): Entry | Wrong {
  if (header.length < BLOCK) return { wrong: 'the archive ends too early: it was cut' }
  const name = header.subarray(0, 100).toString('latin1').split('\0', 1)[0] as string
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
  const [, field] = FIELDS.findLast(([begin]) => begin <= differs) as (typeof FIELDS)[number]
  return {
    wrong: `the ${field} in the header of ${name} is not what a bundle has (one that was packed anew is checked as a folder)`,
  }
}

function headerOf(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  const write = (at: number, text: string) => header.write(text, at, 'latin1')
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
