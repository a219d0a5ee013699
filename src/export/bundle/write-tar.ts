/**
 * @module Files as one tar stream (POSIX ustar, IEEE Std 1003.1): the same bytes for the same files, without times or owners, and with sorted names. It is a
 * single generator: a reader that stops early ends the reading of the store at once, and no stream promise is left that would have to be awaited.
 */
import type { BundleFile } from './bundle-file.ts'

const BLOCK_BYTES = 512
const NAME_MAX_BYTES = 100
/** Largest value of eleven octal digits. */
const SIZE_MAX_BYTES = 8 ** 11 - 1
const CHECKSUM = { start: 148, digits: 6 } as const

/** Produces each portion on demand. Throws what a file's content throws, and `RangeError` for a file that ustar cannot describe. */
export async function* tarChunks(files: readonly BundleFile[]): AsyncGenerator<Uint8Array, void> {
  const inOrder = [...files].sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const { name, size, content } of inOrder) {
    yield tarHeader(name, size)
    let written = 0
    for await (const chunk of content()) {
      written += chunk.byteLength
      yield chunk
    }
    if (written !== size) throw new RangeError(`${name} holds ${written} bytes, where its header says ${size}`)
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
    if (padding > 0) yield new Uint8Array(padding)
  }
  yield new Uint8Array(2 * BLOCK_BYTES)
}

/** The header block of a regular file. Fields end with a space, the checksum with a space and a NUL. */
function tarHeader(name: string, size: number): Uint8Array {
  if (!/^[\x21-\x7e]+$/.test(name) || name.length > NAME_MAX_BYTES) throw new RangeError(`${name} is no name for a tar`)
  if (size > SIZE_MAX_BYTES) {
    throw new RangeError(`${name} would hold ${size} bytes and a bundle takes ${SIZE_MAX_BYTES}: export it as JSONL`)
  }
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(name)
  block.write(octal(0o644, 6), 100)
  block.write(octal(0, 6), 108)
  block.write(octal(0, 6), 116)
  block.write(octal(size, 11), 124)
  block.write(octal(0, 11), 136)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write(octal(0, 6), 329)
  block.write(octal(0, 6), 337)
  // The checksum is computed as if its own field contained spaces.
  block.fill(' ', CHECKSUM.start, CHECKSUM.start + 8)
  const sum = block.reduce((all, byte) => all + byte, 0)
  block.write(`${octal(sum, CHECKSUM.digits)}\0`, CHECKSUM.start)
  return block
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')} `
}
