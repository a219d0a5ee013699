/** @module The program that keeps the key of a wrapped key file: `--keys exec:COMMAND`. */
import { execFile, spawnSync } from 'node:child_process'
import { KeyFileError } from '../signing/key-file.ts'
import type { KeyWrapping } from '../signing/wrapped-keys.ts'

const LIMITS = { timeout: 30_000, maxBuffer: 64 * 1024, windowsHide: true, encoding: 'buffer' } as const
const REASON_MAX_CHARS = 200

interface Ended {
  readonly error: Error | null | undefined
  readonly stdout: Buffer | null
  readonly stderr: Buffer | null
}

/**
 * Runs `COMMAND wrap` and `COMMAND unwrap`, without a shell: the bytes go to its standard input, and its standard output is the result, of at most 64 KiB.
 * A `KeyFileError` has the first line of its standard error.
 */
export function keyCommand([program = '', ...args]: readonly string[]): KeyWrapping {
  const inTurn = (verb: 'wrap' | 'unwrap') => (input: Uint8Array) => {
    const { status, ...ended } = spawnSync(program, [...args, verb], { ...LIMITS, input })
    const error = ended.error ?? (status === 0 ? undefined : new Error(`it ended with ${ended.signal ?? status}`))
    return resultOf(`${program} ${verb}`, { ...ended, error })
  }
  const unwrapLater = (input: Uint8Array) =>
    new Promise<Uint8Array>((resolve, reject) => {
      const child = execFile(program, [...args, 'unwrap'], LIMITS, (error, stdout, stderr) => {
        try {
          resolve(resultOf(`${program} unwrap`, { error, stdout, stderr }))
        } catch (failure) {
          reject(failure)
        }
      })
      // A program that ends without reading its input says why by its exit code.
      child.stdin?.on('error', () => undefined).end(input)
    })
  return { wrap: inTurn('wrap'), unwrap: inTurn('unwrap'), unwrapLater }
}

function resultOf(what: string, { error, stdout, stderr }: Ended): Uint8Array {
  if (!error && stdout !== null && stdout.length > 0) return stdout
  const [line = ''] = (stderr?.toString() ?? '').trim().split('\n')
  const reason = [error?.message.split('\n')[0] ?? 'it printed nothing', line.slice(0, REASON_MAX_CHARS)]
  const shown = reason.filter((text) => text !== '').join(': ')
  throw new KeyFileError('key-command-failed', `the program that opens the key file failed (${what}: ${shown})`)
}
