#!/usr/bin/env node
// Committed so that the package manager can link the command at install time, before anything is built.
import { main } from '../dist/command.js';

process.exitCode = await main(process.argv.slice(2));
