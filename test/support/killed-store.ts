/** @module A store whose writer was killed at some moment: the file, its log, and what had been acknowledged until then. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { bundledProgram } from './program.ts'

const CHILD = bundledProgram('test/store/crash-child.js')

export interface Ack {
  readonly stream: string
  readonly revision: number
  readonly mark: string
}

/** Runs a child until it has acknowledged `count` appends, kills it with SIGKILL, and gives all that it acknowledged. */
export async function killedAfter(path: string, count: number): Promise<readonly Ack[]> {
  const child = spawn(process.execPath, [CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  let lines = 0
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    lines += chunk.split('\n').length - 1
    if (lines > count) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'close')
  assert.is(signal, 'SIGKILL')
  const whole = text.split('\n').slice(1, -1)
  return whole.map((line) => {
    const [stream = '', revision = '', mark = ''] = line.split(' ')
    return { stream, revision: Number(revision), mark }
  })
}
