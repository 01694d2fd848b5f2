// Where the thread of a ledger begins.

import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadOptions } from './messages.ts'
import { serveLedger } from './server.ts'

serveLedger(parentPort!, workerData as ThreadOptions)
