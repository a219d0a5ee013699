/** @module Files as one tar stream (POSIX ustar), the same bytes for the same files: no times, no owners, names in order. */
import { pack as newPack, type Pack } from 'tar-stream'
import type { BundleFile } from './bundle-file.ts'

const MODE = 0o644

type Sink = ReturnType<Pack['entry']>

/** Makes each portion as it is read. Throws what a file's content throws. */
export async function* tarChunks(files: readonly BundleFile[]): AsyncGenerator<Uint8Array, void> {
  const pack = newPack()
  const written = writeAll(pack, files).catch((error: unknown) => {
    pack.destroy(error instanceof Error ? error : new Error(String(error)))
  })
  try {
    for await (const chunk of pack as AsyncIterable<Uint8Array>) yield chunk
    await written
  } finally {
    pack.destroy()
  }
}

async function writeAll(pack: Pack, files: readonly BundleFile[]): Promise<void> {
  const inOrder = [...files].sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const file of inOrder) await writeFile(pack, file)
  pack.finalize()
}

async function writeFile(pack: Pack, { name, size, content }: BundleFile): Promise<void> {
  const owner = { uid: 0, gid: 0, uname: '', gname: '' }
  let entry: Sink | undefined
  const written = new Promise<void>((resolve, reject) => {
    entry = pack.entry({ name, size, mode: MODE, mtime: new Date(0), type: 'file', ...owner }, (error) =>
      error ? reject(error) : resolve(),
    )
  })
  for await (const chunk of content()) if (entry?.write(chunk) === false) await drained(entry)
  entry?.end(null)
  await written
}

/** Also where the reader has left: then the entry is closed, and nothing waits for ever. */
function drained(entry: Sink): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const over = (): void => reject(new Error('the reader left'))
    const on = (): void => {
      entry.removeListener('close', over)
      resolve()
    }
    entry.once('close', over)
    entry.once('drain', on)
  })
}
