#!/usr/bin/env node
import { runGuarded } from '../dist/crash.js';

runGuarded(() => import('../dist/cli.js'));
